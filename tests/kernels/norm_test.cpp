#include "ops/plain/norm.h"
#include "isa_fixture.h"
#include "kernels/rows.h"
#include "row_data.h"

namespace regard::kernels {
namespace {

using namespace regard::testing;

class NormKernel : public EachIsa {};
REGARD_EACH_ISA(NormKernel);

struct NormCase {
  std::int64_t rows, columns;
  bool rms;
  float gain_offset;
  std::vector<float> x, gain, bias, dy;
  NormCase(std::int64_t r, std::int64_t c, bool is_rms)
      : rows(r),
        columns(c),
        rms(is_rms),
        gain_offset(is_rms ? 1.0f : 0.0f),
        x(random_floats(r * c, "x")),
        gain(random_floats(c, "gain")),
        bias(random_floats(c, "bias")),
        dy(random_floats(r * c, "dy")) {
    for (float& value : x) value += 2.0f;
  }
};

struct Result {
  std::vector<float> y, mean, inverse, dx, gain_gradient, bias_gradient;
  std::vector<float> joined() const {
    std::vector<float> all;
    for (const auto* part : {&y, &dx, &gain_gradient, &bias_gradient})
      all.insert(all.end(), part->begin(), part->end());
    return all;
  }
};

Result run(ThreadPool& pool, const NormCase& one) {
  Result result;
  const auto rows = static_cast<std::size_t>(one.rows), columns = static_cast<std::size_t>(one.columns);
  result.y.resize(one.x.size());
  result.dx.resize(one.x.size());
  result.mean.resize(rows);
  result.inverse.resize(rows);
  result.gain_gradient.assign(columns, 0.5f);
  result.bias_gradient.assign(columns, 0.25f);
  Norm forward;
  forward.rows = one.rows;
  forward.columns = one.columns;
  forward.rms = one.rms;
  forward.gain_offset = one.gain_offset;
  forward.x = one.x.data();
  forward.gain = one.gain.data();
  forward.bias = one.rms ? nullptr : one.bias.data();
  forward.y = result.y.data();
  forward.mean = result.mean.data();
  forward.inverse_deviation = result.inverse.data();
  norm(pool, forward);
  NormBackward backward;
  backward.rows = one.rows;
  backward.columns = one.columns;
  backward.rms = one.rms;
  backward.gain_offset = one.gain_offset;
  backward.x = one.x.data();
  backward.gain = one.gain.data();
  backward.mean = result.mean.data();
  backward.inverse_deviation = result.inverse.data();
  backward.dy = one.dy.data();
  backward.dx = result.dx.data();
  backward.gain_gradient = result.gain_gradient.data();
  backward.bias_gradient = one.rms ? nullptr : result.bias_gradient.data();
  norm_backward(pool, backward);
  return result;
}

TEST_P(NormKernel, ForwardAndBackwardMatchDouble) {
  ThreadPool pool(2);
  for (std::int64_t columns : column_counts()) {
    if (columns < 2) continue;  // with one column the variance is zero, and the result depends only on ε
    for (bool rms : {false, true}) {
      const NormCase one(columns > 1000 ? 3 : 70, columns, rms);
      const Result result = run(pool, one);
      const std::vector<double> x = to_doubles(one.x), gain = to_doubles(one.gain),
                                bias = to_doubles(one.bias), dy = to_doubles(one.dy);
      plain::Norm<double> spec{one.rows,     columns,     static_cast<double>(1e-5f), rms,
                               rms ? 1 : 0., gain.data(), rms ? nullptr : bias.data()};
      std::vector<double> y(x.size()), dx(x.size());
      std::vector<double> gain_gradient(gain.size(), 0.5), bias_gradient(gain.size(), 0.25);
      plain::norm_forward(spec, x.data(), y.data());
      plain::norm_backward(spec, x.data(), dy.data(), dx.data(), gain_gradient.data(),
                           rms ? nullptr : bias_gradient.data());
      const std::string what = (rms ? "rms " : "layer ") + std::to_string(columns) + " columns";
      // Two columns can be nearly equal, and their difference then loses digits by cancellation.
      const double tolerance = columns < 4 ? 2e-3 : 1e-5;
      expect_close(result.y, y, tolerance, "y, " + what);
      expect_close(result.dx, dx, columns < 4 ? 5e-2 : 3e-5, "dx, " + what);
      expect_close(result.gain_gradient, gain_gradient, columns < 4 ? 2e-3 : 3e-5, "gain, " + what);
      expect_close(result.bias_gradient, bias_gradient, 3e-5, "bias, " + what);
    }
  }
}

TEST_P(NormKernel, AccumulatesIntoDx) {
  ThreadPool pool(1);
  const NormCase one(4, 33, false);
  const Result result = run(pool, one);
  std::vector<float> dx(one.x.size(), 1.5f);
  NormBackward backward;
  backward.rows = 4;
  backward.columns = 33;
  backward.x = one.x.data();
  backward.gain = one.gain.data();
  backward.mean = result.mean.data();
  backward.inverse_deviation = result.inverse.data();
  backward.dy = one.dy.data();
  backward.dx = dx.data();
  backward.accumulate_dx = true;
  norm_backward(pool, backward);
  for (std::size_t i = 0; i < dx.size(); ++i) EXPECT_EQ(dx[i], 1.5f + result.dx[i]);
}

TEST_P(NormKernel, SpecialRows) {
  ThreadPool pool(1);
  NormCase one(1, 40, false);
  std::fill(one.x.begin(), one.x.end(), 3.0f);  // if all values are equal, the result is the bias
  EXPECT_TRUE(same_bits(run(pool, one).y, one.bias));
  std::fill(one.x.begin(), one.x.end(), 1e15f);
  one.x[3] = -1e15f;
  for (float value : run(pool, one).y) EXPECT_TRUE(std::isfinite(value));
}

TEST_P(NormKernel, BitsDoNotDependOnThreadsOrCompany) {
  for (bool rms : {false, true}) {
    const NormCase many(900, 129, rms);
    expect_same_for_any_threads([&](ThreadPool& pool) { return run(pool, many).joined(); }, "norm");
    ThreadPool pool(1);
    const Result all = run(pool, many);
    NormCase few = many;
    few.rows = 3;
    for (auto* part : {&few.x, &few.dy}) part->assign(part->begin() + 129 * 500, part->begin() + 129 * 503);
    const Result some = run(pool, few);
    EXPECT_TRUE(same_bits(some.y, {all.y.begin() + 129 * 500, all.y.begin() + 129 * 503}));
    EXPECT_TRUE(same_bits(some.dx, {all.dx.begin() + 129 * 500, all.dx.begin() + 129 * 503}));
  }
}

TEST_P(NormKernel, SumOverRowsMatchesDouble) {
  for (std::int64_t columns : {1, 7, 16, 33, 300}) {
    for (std::int64_t rows : {0, 1, 31, 200, 5000}) {
      const std::int64_t stride = columns + 3;
      const std::vector<float> dy = random_floats(rows * stride, "dy");
      std::vector<double> truth(static_cast<std::size_t>(columns), 2.0);
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t c = 0; c < columns; ++c)
          truth[static_cast<std::size_t>(c)] +=
              static_cast<double>(dy[static_cast<std::size_t>(row * stride + c)]);
      const auto sums = [&](ThreadPool& pool) {
        std::vector<float> sum(truth.size(), 2.0f);
        sum_rows(pool, dy.data(), stride, rows, columns, sum.data());
        return sum;
      };
      ThreadPool pool(1);
      expect_close(sums(pool), truth, 1e-4, std::to_string(rows) + " rows");
      if (rows == 5000) expect_same_for_any_threads(sums, "sum over rows");
    }
  }
}

}  // namespace
}  // namespace regard::kernels
