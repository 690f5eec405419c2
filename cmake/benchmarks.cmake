# bench/kernels_benchmark: benchmarks of single kernels, using google-benchmark.
find_package(benchmark REQUIRED)
add_executable(${REGARD_TARGET_PREFIX}kernels_benchmark ${PROJECT_SOURCE_DIR}/bench/kernels_benchmark.cpp)
target_include_directories(${REGARD_TARGET_PREFIX}kernels_benchmark PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(${REGARD_TARGET_PREFIX}kernels_benchmark PRIVATE regard regard_options benchmark::benchmark)
