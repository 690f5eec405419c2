# tests/DIR/*_test.cpp become one program test_DIR. tests/DIR/data/*_test.cpp become data_DIR, with the label `data`: these
# tests also read the corpora next to the checkout (REGARD_SHARED, default ../shared).
set(REGARD_TEST_DIRECTORIES "" CACHE STRING "Only these directories' tests (default: all)")
find_package(GTest REQUIRED)
include(GoogleTest)

file(GLOB REGARD_TEST_SUPPORT CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.cpp)
if(REGARD_DIRECTORIES AND NOT "models" IN_LIST REGARD_DIRECTORIES)
  list(FILTER REGARD_TEST_SUPPORT EXCLUDE REGEX "/(text_model|tiny_models|hf_folder|test_server)[.]cpp$")
endif()
if(REGARD_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports std::regex under the address sanitizer (false positive).
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/support/document.cpp PROPERTIES COMPILE_OPTIONS -Wno-maybe-uninitialized)
endif()
add_library(${REGARD_TARGET_PREFIX}test_support STATIC ${REGARD_TEST_SUPPORT})
target_include_directories(${REGARD_TARGET_PREFIX}test_support PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(${REGARD_TARGET_PREFIX}test_support PUBLIC regard regard_options GTest::gtest ${REGARD_LIBRARIES})
# Optimising the tests would take more time than it saves, except under the sanitizers.
set(REGARD_TEST_OPTIMISATION -O0)
if(REGARD_SANITIZE)
  set(REGARD_TEST_OPTIMISATION -Og)
endif()
target_compile_options(${REGARD_TARGET_PREFIX}test_support PRIVATE ${REGARD_TEST_OPTIMISATION})
set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/support/compress.cpp PROPERTIES
  COMPILE_DEFINITIONS "${REGARD_DECOMPRESS_DEFINITIONS}")
# test_support and the test programs have the same properties, so that they can share precompiled headers.
set_target_properties(${REGARD_TARGET_PREFIX}test_support PROPERTIES POSITION_INDEPENDENT_CODE OFF REGARD_IS_TEST ON)
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
  target_compile_options(${name} PRIVATE ${REGARD_TEST_OPTIMISATION})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF REGARD_IS_TEST ON)
  if(REGARD_PRECOMPILE)
    target_precompile_headers(${name} REUSE_FROM ${REGARD_TARGET_PREFIX}test_support)
  endif()
  if(TARGET regard_program)
    add_dependencies(${name} regard_program)
  endif()
  # The tests over corpora are the longest. They start first, because a long test that starts last would run alone on
  # one core. Tests of the demo train with two threads.
  set(cost 1)
  set(processors 1)
  if(label STREQUAL "data")
    set(cost 100)
  endif()
  if(name MATCHES "^data_(demo|docs)$")
    set(cost 1000)
    set(processors 2)
  endif()
  # With REGARD_FAULTS=all, a test runs the program thousands of times. This property overrides ctest's --timeout.
  set(seconds 600)
  if(name STREQUAL "test_faults")
    set(seconds 3600)
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${name}."
    PROPERTIES LABELS ${label} TIMEOUT ${seconds} COST ${cost} PROCESSORS ${processors})
endfunction()

# A library for LD_PRELOAD that makes file operations fail. It is not built with sanitizers, whose own library must be
# loaded first, nor for cross builds, where it would be loaded into the emulator qemu.
if(NOT REGARD_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_library(fault_shim MODULE ${PROJECT_SOURCE_DIR}/tests/faults/fault_shim.c)
  target_compile_options(fault_shim PRIVATE -Wall -Wextra -Werror)
  set_target_properties(fault_shim PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
endif()

file(GLOB REGARD_TEST_FOLDERS LIST_DIRECTORIES true CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/*)
foreach(folder ${REGARD_TEST_FOLDERS})
  get_filename_component(directory ${folder} NAME)
  if(IS_DIRECTORY ${folder} AND NOT directory MATCHES "^(data|support|consumer)$"
     AND (NOT REGARD_TEST_DIRECTORIES OR directory IN_LIST REGARD_TEST_DIRECTORIES))
    file(GLOB directory_tests CONFIGURE_DEPENDS ${folder}/*_test.cpp)
    if(directory STREQUAL "faults" AND NOT TARGET fault_shim)
      continue()
    endif()
    regard_test_program(test_${directory} unit ${directory_tests})
    file(GLOB data_tests CONFIGURE_DEPENDS ${folder}/data/*_test.cpp)
    regard_test_program(data_${directory} data ${data_tests})
  endif()
endforeach()
if(TARGET test_demo)
  target_link_libraries(test_demo PRIVATE regard_demo)
endif()
if(TARGET test_faults)
  add_dependencies(test_faults fault_shim)
  target_compile_definitions(test_faults PRIVATE REGARD_FAULT_SHIM="$<TARGET_FILE:fault_shim>")
endif()

# test_serve_address and test_serve_thread: test_serve under sanitizers (make sanitize-serve). src/serve, the
# tests and their support code are instrumented; the rest of the library is not, so that the build takes
# minutes. The exceptions are two files with atomic operations that synchronise the library's threads: they
# are instrumented, and their objects replace those of the library.
function(regard_sanitized_serve name sanitizers)
  file(GLOB serve CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/serve/*.cpp)
  file(GLOB tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/serve/*_test.cpp)
  add_executable(${name} EXCLUDE_FROM_ALL ${serve} ${tests} ${REGARD_TEST_SUPPORT} ${PROJECT_SOURCE_DIR}/src/base/thread_pool.cpp
    ${PROJECT_SOURCE_DIR}/src/text/ids_encoder.cpp)
  set(number 0)
  foreach(source ${serve})
    get_source_file_property(group ${source} UNITY_GROUP)
    if(NOT group)
      math(EXPR number "${number} + 1")
      math(EXPR part "${number} / 8")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP serve_part_${part})
    endif()
  endforeach()
  foreach(source ${tests} ${REGARD_TEST_SUPPORT})
    math(EXPR number "${number} + 1")
    math(EXPR part "${number} / 5")
    get_filename_component(folder ${source} DIRECTORY)
    get_filename_component(folder ${folder} NAME)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP tests_${folder}_${part})
  endforeach()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP POSITION_INDEPENDENT_CODE OFF
    EXPORT_COMPILE_COMMANDS OFF)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE regard regard_options GTest::gtest GTest::gtest_main ${REGARD_LIBRARIES})
  target_compile_definitions(${name} PRIVATE $<TARGET_PROPERTY:test_support,INTERFACE_COMPILE_DEFINITIONS>)
  target_compile_options(${name} PRIVATE -O1 -g1 -fno-omit-frame-pointer -fsanitize=${sanitizers} -fno-sanitize-recover=all
    -Wno-maybe-uninitialized $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage;-Wno-tsan>)
  target_link_options(${name} PRIVATE -fsanitize=${sanitizers} -Wl,--allow-multiple-definition)
  if(TARGET regard_program)
    add_dependencies(${name} regard_program)
  endif()
endfunction()
if(NOT REGARD_SANITIZE AND NOT CMAKE_CROSSCOMPILING AND NOT REGARD_DIRECTORIES AND NOT REGARD_TARGET_PREFIX)
  regard_sanitized_serve(test_serve_address address,undefined)
  regard_sanitized_serve(test_serve_thread thread)
endif()
