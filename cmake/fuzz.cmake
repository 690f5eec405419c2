# fuzz/NAME.cpp becomes a libFuzzer program fuzz_NAME with its own copy of the rooms that read files, compiled
# for coverage and with the sanitizers on. tools/fuzz.sh runs them.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "REGARD_BUILD_FUZZERS needs clang: use the preset `fuzz`")
endif()
file(GLOB REGARD_FUZZED_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/base/*.cpp
  ${PROJECT_SOURCE_DIR}/src/tensor/*.cpp ${PROJECT_SOURCE_DIR}/src/formats/*.cpp ${PROJECT_SOURCE_DIR}/src/text/*.cpp)
add_library(regard_fuzzed STATIC ${REGARD_FUZZED_SOURCES})
target_include_directories(regard_fuzzed PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
set(REGARD_FUZZ_FLAGS -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g)
target_compile_options(regard_fuzzed PUBLIC ${REGARD_FUZZ_FLAGS} -fsanitize=fuzzer-no-link)
target_link_options(regard_fuzzed PUBLIC ${REGARD_FUZZ_FLAGS})
target_link_libraries(regard_fuzzed PUBLIC ${REGARD_LIBRARIES})

file(GLOB fuzz_targets CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*.cpp)
foreach(source ${fuzz_targets})
  get_filename_component(name ${source} NAME_WE)
  add_executable(fuzz_${name} ${source})
  target_link_libraries(fuzz_${name} PRIVATE regard_fuzzed regard_options)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
endforeach()
