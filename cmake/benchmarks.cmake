# bench/kernels_benchmark: benchmarks of single kernels, using google-benchmark.
find_package(benchmark REQUIRED)
add_executable(${REGARD_TARGET_PREFIX}kernels_benchmark ${PROJECT_SOURCE_DIR}/bench/kernels_benchmark.cpp)
target_include_directories(${REGARD_TARGET_PREFIX}kernels_benchmark PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(${REGARD_TARGET_PREFIX}kernels_benchmark PRIVATE regard regard_options benchmark::benchmark)

# bench/serve_benchmark: time to the first token, throughput and /health of `regard serve`, compared with the library
# in the same run.
add_executable(${REGARD_TARGET_PREFIX}serve_benchmark EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/bench/serve_benchmark.cpp)
target_include_directories(${REGARD_TARGET_PREFIX}serve_benchmark PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(${REGARD_TARGET_PREFIX}serve_benchmark PRIVATE regard regard_options ${REGARD_LIBRARIES})
