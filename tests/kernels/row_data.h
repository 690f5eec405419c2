// Helpers for the tests of the row kernels: random rows, comparison with a reference in double, and runs with
// several thread counts.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "base/thread_pool.h"
#include "support/namespaces.h"

namespace regard::testing {

inline std::vector<float> random_floats(std::int64_t count, std::string_view name, float scale = 1.0f) {
  RandomStream stream({7, 0, place_of(name)});
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = scale * static_cast<float>(stream.next_normal());
  return values;
}

inline std::vector<double> to_doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

// Expect |got − truth| ≤ tolerance · max(1, |truth|) for every element; a NaN fails.
inline void expect_close(const std::vector<float>& got, const std::vector<double>& truth, double tolerance,
                         const std::string& what) {
  ASSERT_EQ(got.size(), truth.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isinf(truth[i]) && static_cast<double>(got[i]) == truth[i]) continue;
    const double error = std::fabs(static_cast<double>(got[i]) - truth[i]);
    ASSERT_TRUE(error <= tolerance * std::max(1.0, std::fabs(truth[i])))
        << what << ", element " << i << ": " << got[i] << " for " << truth[i];
  }
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Expect the same bits from run(pool) with 1, 2, 3 and 8 threads.
template <class Run>
void expect_same_for_any_threads(Run run, const std::string& what) {
  ThreadPool one(1);
  const std::vector<float> alone = run(one);
  for (int threads : {2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_TRUE(same_bits(alone, run(pool))) << what << " with " << threads << " threads";
  }
}

// Column counts that cover every tail of both vector widths, and large counts.
inline const std::vector<std::int64_t>& column_counts() {
  static const std::vector<std::int64_t> counts = [] {
    std::vector<std::int64_t> all{96, 127, 128, 384, 1000, 10001};
    for (std::int64_t c = 1; c <= 70; ++c) all.push_back(c);
    return all;
  }();
  return counts;
}

}  // namespace regard::testing
