# `cmake --install`, `find_package(regard)` and CPack. Consumers link regard::regard; regardConfig.cmake finds the
# dependencies of the static library.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(REGARD_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/regard)
install(TARGETS regard EXPORT regardTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(REGARD_SHARED_LIBRARY)
  install(TARGETS regard_shared EXPORT regardTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/regard DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT regardTargets NAMESPACE regard:: DESTINATION ${REGARD_CMAKE_DIR})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/regardConfig.cmake.in ${PROJECT_BINARY_DIR}/regardConfig.cmake
  INSTALL_DESTINATION ${REGARD_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/regardConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/regardConfig.cmake ${PROJECT_BINARY_DIR}/regardConfigVersion.cmake
  DESTINATION ${REGARD_CMAKE_DIR})
if(REGARD_BUILD_PROGRAM)
  install(TARGETS regard_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(TARGET regard_mpi)  # the program looks for it in ../lib/regard
    install(TARGETS regard_mpi LIBRARY DESTINATION lib/regard)
  endif()
endif()
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_PACKAGE_VENDOR "regard")
set(CPACK_PACKAGE_CONTACT "the regard project")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME regard-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_GENERATOR "TGZ;DEB")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
include(CPack)
