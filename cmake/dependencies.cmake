# All libraries are packages of the distribution. docs/dependencies.md gives the reason for each.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
if(REGARD_BUILD_PROGRAM)
  find_package(CLI11 REQUIRED)
endif()
find_package(PkgConfig REQUIRED)
pkg_check_modules(REGARD_HWY REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(REGARD_XXHASH REQUIRED IMPORTED_TARGET libxxhash)
# Optional: without simdjson, loading a large tokenizer.json takes three times as long. (Debian's package cannot be
# installed for two architectures at once.)
pkg_check_modules(REGARD_SIMDJSON IMPORTED_TARGET simdjson)
pkg_check_modules(REGARD_UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
# Optional: without them, files compressed with gzip or zstd are refused with an error that names the library.
pkg_check_modules(REGARD_ZLIB IMPORTED_TARGET zlib)
pkg_check_modules(REGARD_ZSTD IMPORTED_TARGET libzstd)
# Optional: without them, these image formats are refused with an error that names the library.
find_package(PNG)
find_package(JPEG)
pkg_check_modules(REGARD_WEBP IMPORTED_TARGET libwebp)
# Optional: without Boost.Beast and Boost.Asio (headers only), `regard serve` ends with an error that names them.
find_path(REGARD_BOOST_INCLUDE boost/beast/http.hpp)
# Optional: without them, sound files other than WAV, and sampling rates other than the model's, are refused with an
# error that names the library.
pkg_check_modules(REGARD_SNDFILE IMPORTED_TARGET sndfile)
if(REGARD_SNDFILE_FOUND)  # its pkg-config file lists header folders of its codecs, which regard does not include
  set_target_properties(PkgConfig::REGARD_SNDFILE PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "")
endif()
pkg_check_modules(REGARD_SOXR IMPORTED_TARGET soxr)
# Optional: without MPI, `mpirun regard train` ends with an error that names MPI. ON: required; OFF: not used.
set(REGARD_MPI auto CACHE STRING "Training by several processes over MPI: auto (if it is found), ON or OFF")
if(REGARD_MPI STREQUAL "ON")
  pkg_search_module(REGARD_MPI_LIBRARY REQUIRED IMPORTED_TARGET ompi-c mpich mpi-c)
elseif(NOT REGARD_MPI STREQUAL "OFF")
  pkg_search_module(REGARD_MPI_LIBRARY IMPORTED_TARGET ompi-c mpich mpi-c)
endif()
pkg_check_modules(REGARD_PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
