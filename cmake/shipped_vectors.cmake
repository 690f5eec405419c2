# Write recipes/explain-vectors/vectors.txt into a source file, so that the program needs no file beside it.
set(REGARD_VECTORS_FILE ${PROJECT_SOURCE_DIR}/recipes/explain-vectors/vectors.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${REGARD_VECTORS_FILE})
file(READ ${REGARD_VECTORS_FILE} REGARD_VECTORS)
configure_file(${PROJECT_SOURCE_DIR}/cmake/shipped_vectors.cpp.in ${PROJECT_BINARY_DIR}/generated/shipped_vectors_text.cpp @ONLY)
