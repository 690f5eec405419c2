# The library libregard from src/, and the program. Sources are globbed, so a new file needs no edit here.
add_library(regard_options INTERFACE)
target_compile_options(regard_options INTERFACE
  -Wall -Wextra -Wconversion
  # -Wshadow is not used in a unity build, where a local name may hide a name of another file of the group.
  $<$<NOT:$<BOOL:${REGARD_UNITY}>>:-Wshadow>
  $<$<BOOL:${REGARD_WARNINGS_AS_ERRORS}>:-Werror>
  # The bit rule (docs/architecture.md): the compiler must not contract a * b + c; fused multiply-adds are explicit.
  -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports inlined standard-library code here (false positives, fixed in later versions).
  target_compile_options(regard_options INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
  # Run the compiler's garbage collection less often: the build is 5 % faster and needs some hundred megabytes more.
  target_compile_options(regard_options INTERFACE --param=ggc-min-expand=400)
endif()
if(REGARD_SANITIZE)
  target_compile_options(regard_options INTERFACE -fsanitize=${REGARD_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer -Og)
  # Check the indices of spans and vectors: the sanitizers do not detect an index past the end if the buffer
  # is larger.
  target_compile_definitions(regard_options INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(regard_options INTERFACE -fsanitize=${REGARD_SANITIZE})
endif()
if(REGARD_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Check addresses by calls instead of inline code, so that the unrolled kernels compile in a quarter of the
  # time. Code of the tests is not checked for undefined behaviour, because the checks would double its
  # compile time.
  target_compile_options(regard_options INTERFACE --param=asan-instrumentation-with-call-threshold=0
    $<$<BOOL:$<TARGET_PROPERTY:REGARD_IS_TEST>>:-fno-sanitize=undefined>)
endif()

file(GLOB_RECURSE REGARD_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cpp)
list(FILTER REGARD_SOURCES EXCLUDE REGEX "/src/kernels/simd/|/src/(cli|demo)/|/src/distributed/mpi_transport")
# Lower directories of src/ do not include upper ones (tools/check_layers.sh), so they can be built alone.
set(REGARD_DIRECTORIES "" CACHE STRING "Only these directories of src/ (default: all); for a build that tests them alone")
if(REGARD_DIRECTORIES)
  list(JOIN REGARD_DIRECTORIES "|" directories)
  list(FILTER REGARD_SOURCES INCLUDE REGEX "/src/(${directories})/")
endif()

if(NOT REGARD_DIRECTORIES OR "inspect" IN_LIST REGARD_DIRECTORIES)
  include(cmake/page.cmake)
  list(APPEND REGARD_SOURCES ${PROJECT_BINARY_DIR}/generated/page_source.cpp)
endif()

if(NOT REGARD_DIRECTORIES OR "vectors" IN_LIST REGARD_DIRECTORIES)
  include(cmake/shipped_vectors.cmake)
  list(APPEND REGARD_SOURCES ${PROJECT_BINARY_DIR}/generated/shipped_vectors_text.cpp)
endif()

file(GLOB REGARD_CLI_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cli/*.cpp)

# Code of these directories does little of the computation. With a lighter optimisation, it compiles in two
# thirds of the time.
set(REGARD_LIGHT_SOURCES ${REGARD_SOURCES})
list(FILTER REGARD_LIGHT_SOURCES INCLUDE REGEX
  "/src/(api|distributed|evaluate|inspect|models/families|report|serve|tasks|text/jinja|train)/|/generated/")
list(FILTER REGARD_LIGHT_SOURCES EXCLUDE REGEX "/src/train/optimizers/")
list(REMOVE_ITEM REGARD_SOURCES ${REGARD_LIGHT_SOURCES})

add_library(regard STATIC ${REGARD_SOURCES})
# A shared object that contains the library exports only the public API (include/regard/export.h).
set(REGARD_VISIBILITY CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
set_target_properties(regard PROPERTIES ${REGARD_VISIBILITY})
add_library(regard::regard ALIAS regard)
target_compile_features(regard PUBLIC cxx_std_20)
target_include_directories(regard PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
  PRIVATE ${PROJECT_SOURCE_DIR}/src)
# Parsing these headers repeatedly takes most of the build time. The clang preset builds without precompiled headers, to
# check that every file includes what it uses.
option(REGARD_PRECOMPILE "Precompile the headers that are large" ON)
set(REGARD_LARGE_HEADERS <fmt/format.h> <nlohmann/json.hpp> <algorithm> <filesystem> <functional> <map> <memory> <optional>
  <span> <string> <string_view> <vector>)
set(REGARD_LIBRARIES Threads::Threads fmt::fmt nlohmann_json::nlohmann_json tomlplusplus::tomlplusplus PkgConfig::REGARD_HWY PkgConfig::REGARD_XXHASH PkgConfig::REGARD_UTF8PROC PkgConfig::REGARD_PCRE2)
if(REGARD_SIMDJSON_FOUND)
  set_target_properties(PkgConfig::REGARD_SIMDJSON PROPERTIES INTERFACE_COMPILE_OPTIONS "")
  list(APPEND REGARD_LIBRARIES PkgConfig::REGARD_SIMDJSON)
endif()
target_link_libraries(regard PRIVATE $<BUILD_INTERFACE:regard_options> ${REGARD_LIBRARIES})
# simdjson's compile options are set for all sources, because the sources of a unity-build group must have the
# same options.
if(REGARD_SIMDJSON_FOUND)  # code that includes simdjson needs the options it was compiled with
  target_compile_options(regard_options INTERFACE ${REGARD_SIMDJSON_CFLAGS})
  target_compile_definitions(regard_options INTERFACE REGARD_HAVE_SIMDJSON=1)
endif()
if(REGARD_BOOST_INCLUDE)
  target_compile_definitions(regard_options INTERFACE REGARD_HAVE_BOOST=1)
endif()
if(PNG_FOUND)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/data/image_png.cpp PROPERTIES COMPILE_DEFINITIONS REGARD_HAVE_PNG=1)
  target_link_libraries(regard PRIVATE PNG::PNG)
endif()
if(JPEG_FOUND)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/data/image_jpeg.cpp PROPERTIES COMPILE_DEFINITIONS REGARD_HAVE_JPEG=1)
  target_link_libraries(regard PRIVATE JPEG::JPEG)
endif()
if(REGARD_SNDFILE_FOUND)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/data/sound_library.cpp PROPERTIES COMPILE_DEFINITIONS REGARD_HAVE_SNDFILE=1)
  list(APPEND REGARD_LIBRARIES PkgConfig::REGARD_SNDFILE)
  target_link_libraries(regard PRIVATE PkgConfig::REGARD_SNDFILE)
endif()
if(REGARD_SOXR_FOUND)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/data/sound_resample.cpp PROPERTIES COMPILE_DEFINITIONS REGARD_HAVE_SOXR=1)
  list(APPEND REGARD_LIBRARIES PkgConfig::REGARD_SOXR)
  target_link_libraries(regard PRIVATE PkgConfig::REGARD_SOXR)
endif()
if(REGARD_WEBP_FOUND)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/data/image_webp.cpp PROPERTIES COMPILE_DEFINITIONS REGARD_HAVE_WEBP=1)
  target_link_libraries(regard PRIVATE PkgConfig::REGARD_WEBP)
endif()
foreach(codec ZLIB ZSTD)
  if(REGARD_${codec}_FOUND)
    list(APPEND REGARD_DECOMPRESS_DEFINITIONS REGARD_HAVE_${codec}=1)
    list(APPEND REGARD_LIBRARIES PkgConfig::REGARD_${codec})
    target_link_libraries(regard PRIVATE PkgConfig::REGARD_${codec})
  endif()
endforeach()
target_link_libraries(regard PRIVATE ${CMAKE_DL_LIBS})
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/base/decompress.cpp ${PROJECT_SOURCE_DIR}/src/base/deflated_size.cpp PROPERTIES
  COMPILE_DEFINITIONS "${REGARD_DECOMPRESS_DEFINITIONS}")
regard_unity(regard ${REGARD_SOURCES})
if(REGARD_PRECOMPILE)
  target_precompile_headers(regard PRIVATE ${REGARD_LARGE_HEADERS})
endif()
# The version is written to the log of a training run. It is defined for all sources, because objects that
# share a precompiled header need the same definitions.
target_compile_definitions(regard PRIVATE REGARD_VERSION="${PROJECT_VERSION}")

# Set the options of a target that is compiled with lighter optimisation. The other arguments are passed to
# target_precompile_headers, so that such targets can share one precompiled header.
function(regard_light_options target)
  set_target_properties(${target} PROPERTIES ${REGARD_VISIBILITY})
  target_compile_definitions(${target} PRIVATE REGARD_VERSION="${PROJECT_VERSION}")
  # Without -fPIC, an executable would be compiled with -fPIE and could not share the precompiled header.
  target_compile_options(${target} PRIVATE -fPIC $<$<CONFIG:Release>:-Og>)
  if(REGARD_PRECOMPILE)
    target_precompile_headers(${target} ${ARGN})
  endif()
endfunction()
if(REGARD_LIGHT_SOURCES)
  add_library(regard_light OBJECT ${REGARD_LIGHT_SOURCES})
  target_include_directories(regard_light PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(regard_light PRIVATE regard_options ${REGARD_LIBRARIES})
  regard_light_options(regard_light PRIVATE ${REGARD_LARGE_HEADERS})
  regard_unity(regard_light ${REGARD_LIGHT_SOURCES})
  target_sources(regard PRIVATE $<TARGET_OBJECTS:regard_light>)
endif()

# src/kernels/simd/*.cpp is compiled once per instruction set, always optimised. Each object has its code in namespace
# regard::kernels::REGARD_ISA and provides one dispatch table. All other files are compiled for the baseline of the
# architecture, so that the program starts on any processor and can report missing features.
file(GLOB REGARD_SIMD_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/simd/*.cpp)
if(REGARD_DIRECTORIES AND NOT "kernels" IN_LIST REGARD_DIRECTORIES)
  set(REGARD_SIMD_SOURCES "")
endif()
if(REGARD_SANITIZE MATCHES "undefined")
  # This file has the longest compile time of the build. Checks for undefined behaviour in its unrolled tiles would
  # take more than half of this time, so they are off. The address sanitizer still checks the file.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/kernels/simd/gemm.cpp PROPERTIES COMPILE_OPTIONS -fno-sanitize=undefined)
endif()
function(regard_simd isa vector_bytes)
  if(NOT REGARD_SIMD_SOURCES)
    return()
  endif()
  add_library(regard_simd_${isa} OBJECT ${REGARD_SIMD_SOURCES})
  set_target_properties(regard_simd_${isa} PROPERTIES ${REGARD_VISIBILITY})
  target_link_libraries(regard_simd_${isa} PRIVATE regard_options PkgConfig::REGARD_HWY)
  target_include_directories(regard_simd_${isa} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(regard_simd_${isa} PRIVATE REGARD_ISA=${isa}
    REGARD_VECTOR_BYTES=${vector_bytes} HWY_COMPILE_ONLY_STATIC
    # Without this definition, Highway requires AES for SSE4 and above, and otherwise uses SSSE3 only. No kernel uses
    # AES.
    HWY_DISABLE_PCLMUL_AES=1)
  target_compile_options(regard_simd_${isa} PRIVATE ${ARGN} -O3 -fno-math-errno)
  target_sources(regard PRIVATE $<TARGET_OBJECTS:regard_simd_${isa}>)
endfunction()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  regard_simd(avx2 32 -march=x86-64-v3)
  regard_simd(avx512 64 -march=x86-64-v4 -mprefer-vector-width=512)
else()
  # Highway's NEON functions are compiled with AES enabled, so their callers must enable it too. No kernel uses AES.
  regard_simd(neon 16 -march=armv8-a+crypto)
endif()

# The shared library consists of the objects of the static one, which export only the public API.
option(REGARD_SHARED_LIBRARY "Build and install libregard.so too" OFF)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/regard_shared.cpp CONTENT "")
add_library(regard_shared SHARED ${PROJECT_BINARY_DIR}/regard_shared.cpp)
set_target_properties(regard_shared PROPERTIES OUTPUT_NAME regard VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
if(NOT REGARD_SHARED_LIBRARY)
  set_target_properties(regard_shared PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
add_library(regard::regard_shared ALIAS regard_shared)
target_include_directories(regard_shared PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_compile_features(regard_shared PUBLIC cxx_std_20)
target_link_libraries(regard_shared PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,regard>)
# Without the version script, functions that the compiler instantiates from the standard library would be exported.
target_link_options(regard_shared PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map)

# The only file that calls MPI. It is a module that the program loads only if mpirun started the program, so that
# other runs need no MPI.
if(REGARD_MPI_LIBRARY_FOUND AND (NOT REGARD_DIRECTORIES OR "distributed" IN_LIST REGARD_DIRECTORIES))
  add_library(regard_mpi MODULE ${PROJECT_SOURCE_DIR}/src/distributed/mpi_transport.cpp)
  set_target_properties(regard_mpi PROPERTIES PREFIX "" CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/regard)
  target_include_directories(regard_mpi PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(regard_mpi PRIVATE regard_options PkgConfig::REGARD_MPI_LIBRARY)
endif()

# The phrasebook of `regard demo`: linked into the program, not part of the library.
file(GLOB_RECURSE REGARD_DEMO_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/demo/*.cpp)
if(NOT REGARD_DIRECTORIES)
  add_library(regard_demo STATIC EXCLUDE_FROM_ALL ${REGARD_DEMO_SOURCES})
  target_include_directories(regard_demo PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(regard_demo PUBLIC regard PRIVATE regard_options ${REGARD_LIBRARIES})
  regard_light_options(regard_demo REUSE_FROM regard_light)
  regard_unity(regard_demo ${REGARD_DEMO_SOURCES})
endif()

# The program: the command-line interface of the library.
if(REGARD_BUILD_PROGRAM)
  add_executable(regard_program ${REGARD_CLI_SOURCES})
  set_target_properties(regard_program PROPERTIES OUTPUT_NAME regard)
  target_include_directories(regard_program PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(regard_program PRIVATE regard_demo regard regard_options ${REGARD_LIBRARIES} CLI11::CLI11)
  # Command-line code runs once, and its header-only option library is slow to optimise.
  regard_light_options(regard_program REUSE_FROM regard_light)
  if(TARGET regard_mpi)
    add_dependencies(regard_program regard_mpi)
  endif()
  regard_unity(regard_program ${REGARD_CLI_SOURCES})
endif()
