# bench/kernels_benchmark: the kernels one by one, over google-benchmark.
find_package(benchmark REQUIRED)
add_executable(kernels_benchmark ${PROJECT_SOURCE_DIR}/bench/kernels_benchmark.cpp)
target_include_directories(kernels_benchmark PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(kernels_benchmark PRIVATE regard regard_options benchmark::benchmark)
