# tests/DIR/*_test.cpp become one program test_DIR. tests/DIR/data/*_test.cpp become data_DIR, with the label `data`: these
# tests also read the corpora next to the checkout (REGARD_SHARED, default ../shared).
set(REGARD_TEST_ROOMS "" CACHE STRING "Only these rooms' tests (default: all)")
find_package(GTest REQUIRED)
include(GoogleTest)

file(GLOB REGARD_TEST_SUPPORT CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.cpp)
if(REGARD_ROOMS AND NOT "models" IN_LIST REGARD_ROOMS)
  list(FILTER REGARD_TEST_SUPPORT EXCLUDE REGEX "/(text_model|tiny_models|hf_folder|test_server)[.]cpp$")
endif()
if(REGARD_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports std::regex under the address sanitizer (false positive).
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/support/document.cpp PROPERTIES COMPILE_OPTIONS -Wno-maybe-uninitialized)
endif()
add_library(${REGARD_TARGET_PREFIX}test_support STATIC ${REGARD_TEST_SUPPORT})
target_include_directories(${REGARD_TARGET_PREFIX}test_support PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(${REGARD_TARGET_PREFIX}test_support PUBLIC regard regard_options GTest::gtest ${REGARD_LIBRARIES})
target_compile_options(${REGARD_TARGET_PREFIX}test_support PRIVATE -O1)
set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/support/compress.cpp PROPERTIES
  COMPILE_DEFINITIONS "${REGARD_DECOMPRESS_DEFINITIONS}")
# Same setting for the library and the programs, so that they can share precompiled headers.
set_target_properties(${REGARD_TARGET_PREFIX}test_support PROPERTIES POSITION_INDEPENDENT_CODE OFF)
if(REGARD_PRECOMPILE)
  target_precompile_headers(${REGARD_TARGET_PREFIX}test_support PRIVATE ${REGARD_LARGE_HEADERS} <gtest/gtest.h>)
endif()
target_compile_definitions(${REGARD_TARGET_PREFIX}test_support PUBLIC
  REGARD_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
  REGARD_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
  REGARD_BUILD_DIR="${PROJECT_BINARY_DIR}"
  REGARD_PROGRAM="${PROJECT_BINARY_DIR}/bin/regard")

function(regard_test_program name label)
  set(name ${REGARD_TARGET_PREFIX}${name})
  if(NOT ARGN)
    return()
  endif()
  regard_join_tests(sources ${name} ${ARGN})
  add_executable(${name} ${sources})
  list(GET ARGN 0 first)
  get_filename_component(folder ${first} DIRECTORY)
  target_include_directories(${name} PRIVATE ${folder})
  target_link_libraries(${name} PRIVATE ${REGARD_TARGET_PREFIX}test_support GTest::gtest_main)
  target_compile_options(${name} PRIVATE -O1)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  if(REGARD_PRECOMPILE)
    target_precompile_headers(${name} REUSE_FROM ${REGARD_TARGET_PREFIX}test_support)
  endif()
  if(TARGET regard_program)
    add_dependencies(${name} regard_program)
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${name}." PROPERTIES LABELS ${label} TIMEOUT 600)
endfunction()

# A preloaded library that makes file operations fail. Not built with sanitizers, whose own library must be loaded first,
# nor for cross builds, where it would be loaded into the emulator qemu.
if(NOT REGARD_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_library(fault_shim MODULE ${PROJECT_SOURCE_DIR}/tests/faults/fault_shim.c)
  target_compile_options(fault_shim PRIVATE -Wall -Wextra -Werror)
  set_target_properties(fault_shim PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
endif()

file(GLOB REGARD_TEST_FOLDERS LIST_DIRECTORIES true CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*)
foreach(folder ${REGARD_TEST_FOLDERS})
  get_filename_component(room ${folder} NAME)
  if(IS_DIRECTORY ${folder} AND NOT room MATCHES "^(data|support|consumer)$"
     AND (NOT REGARD_TEST_ROOMS OR room IN_LIST REGARD_TEST_ROOMS))
    file(GLOB room_tests CONFIGURE_DEPENDS ${folder}/*_test.cpp)
    if(room STREQUAL "faults" AND NOT TARGET fault_shim)
      continue()
    endif()
    regard_test_program(test_${room} unit ${room_tests})
    file(GLOB data_tests CONFIGURE_DEPENDS ${folder}/data/*_test.cpp)
    regard_test_program(data_${room} data ${data_tests})
  endif()
endforeach()
if(TARGET test_demo)
  target_link_libraries(test_demo PRIVATE regard_demo)
endif()
if(TARGET test_faults)
  add_dependencies(test_faults fault_shim)
  target_compile_definitions(test_faults PRIVATE REGARD_FAULT_SHIM="$<TARGET_FILE:fault_shim>")
endif()
