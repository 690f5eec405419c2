# Every library here comes from the distribution; docs/dependencies.md says why each is wanted.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
# Optional: without them these images are refused with a reason.
find_package(PNG)
find_package(JPEG)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
