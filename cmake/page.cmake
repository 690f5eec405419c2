# Write viewer/page.html into a source file, so that the program needs no file beside it.
set(REGARD_PAGE_FILE ${PROJECT_SOURCE_DIR}/viewer/page.html)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${REGARD_PAGE_FILE})
file(READ ${REGARD_PAGE_FILE} REGARD_PAGE)
configure_file(${PROJECT_SOURCE_DIR}/cmake/page.cpp.in ${PROJECT_BINARY_DIR}/generated/page_source.cpp @ONLY)
