// 13. The decrease of a gradient with distance in time: the norm of d(last state) / d(state k steps
// before) for a plain recurrent network, an LSTM and attention, all untrained. One JSON object per line;
// tools/make_claims.sh collects them for docs/why-attention.md.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "regard/autograd.h"
#include "regard/math.h"

using Vector = std::vector<double>;
static constexpr std::size_t kSize = 32, kSteps = 101;

// A matrix [kSize, kSize] with normally distributed elements, multiplied by gain / √kSize. For gain 1, its
// largest singular values are near 2, and its spectral radius is near 1.
struct Matrix {
  std::vector<double> values;
  Matrix(std::uint64_t seed, const std::string& name, double gain) {
    const regard::Tensor random = regard::random_normal({kSize, kSize}, seed, name);
    for (std::size_t i = 0; i < kSize * kSize; ++i)
      values.push_back(gain * static_cast<double>(random.f32()[i]) / std::sqrt(static_cast<double>(kSize)));
  }
  Vector times(const Vector& x, bool transposed = false) const {
    Vector y(kSize, 0.0);
    for (std::size_t r = 0; r < kSize; ++r)
      for (std::size_t c = 0; c < kSize; ++c)
        transposed ? y[c] += values[r * kSize + c] * x[r] : y[r] += values[r * kSize + c] * x[c];
    return y;
  }
};

static double norm(const Vector& x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return std::sqrt(sum);
}
static Vector input(std::uint64_t seed, std::size_t step) {
  const regard::Tensor random = regard::random_normal({kSize}, seed, "input " + std::to_string(step));
  return {random.f32(), random.f32() + kSize};
}
static double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

static void print(const char* network, double setting, std::uint64_t seed, const Vector& norms) {
  std::printf("{\"network\": \"%s\", \"setting\": %g, \"seed\": %d, \"norms\": {", network, setting,
              static_cast<int>(seed));
  for (const std::size_t k : {1, 10, 30, 100})
    std::printf("%s\"%zu\": %.3g", k == 1 ? "" : ", ", k, norms[k] / norms[0]);
  std::printf("}}\n");
}

// h_t = tanh(W h + x): the gradient is multiplied by Wᵀ diag(1 − h²) at each step.
static void plain(double gain, std::uint64_t seed) {
  const Matrix w(seed, "W", gain);
  std::vector<Vector> states{Vector(kSize, 0.0)};
  for (std::size_t t = 0; t < kSteps; ++t) {
    Vector h = w.times(states.back());
    const Vector x = input(seed, t);
    for (std::size_t i = 0; i < kSize; ++i) h[i] = std::tanh(h[i] + 0.5 * x[i]);
    states.push_back(h);
  }
  Vector gradient(kSize, 1.0), norms{norm(gradient)};
  for (std::size_t t = kSteps; t > 0; --t) {
    for (std::size_t i = 0; i < kSize; ++i) gradient[i] *= 1 - states[t][i] * states[t][i];
    gradient = w.times(gradient, true);
    norms.push_back(norm(gradient));
  }
  print("rnn", gain, seed, norms);
}

// c_t = f c + i g, h_t = o tanh(c): the gradient of the cell is multiplied by the forget gate f.
static void lstm(double forget_bias, std::uint64_t seed) {
  const Matrix wi(seed, "W_i", 1), wf(seed, "W_f", 1), wg(seed, "W_g", 1), wo(seed, "W_o", 1);
  struct Step {
    Vector i, f, g, o, c, before;
  };
  std::vector<Step> steps;
  Vector h(kSize, 0.0), c(kSize, 0.0);
  for (std::size_t t = 0; t < kSteps; ++t) {
    const Vector x = input(seed, t);
    Step s{wi.times(h), wf.times(h), wg.times(h), wo.times(h), c, c};
    for (std::size_t k = 0; k < kSize; ++k) {
      s.i[k] = sigmoid(s.i[k] + 0.5 * x[k]), s.f[k] = sigmoid(s.f[k] + forget_bias);
      s.g[k] = std::tanh(s.g[k] + 0.5 * x[k]), s.o[k] = sigmoid(s.o[k] - 0.5 * x[k]);
      s.c[k] = s.f[k] * s.before[k] + s.i[k] * s.g[k], h[k] = s.o[k] * std::tanh(s.c[k]);
    }
    c = s.c;
    steps.push_back(s);
  }
  Vector dh(kSize, 1.0), dc(kSize, 0.0), norms{norm(dh)};
  for (std::size_t t = kSteps; t > 0; --t) {
    const Step& s = steps[t - 1];
    Vector di(kSize), df(kSize), dg(kSize), d_o(kSize);
    for (std::size_t k = 0; k < kSize; ++k) {
      const double tanh_c = std::tanh(s.c[k]);
      dc[k] += dh[k] * s.o[k] * (1 - tanh_c * tanh_c);
      d_o[k] = dh[k] * tanh_c * s.o[k] * (1 - s.o[k]), di[k] = dc[k] * s.g[k] * s.i[k] * (1 - s.i[k]);
      df[k] = dc[k] * s.before[k] * s.f[k] * (1 - s.f[k]), dg[k] = dc[k] * s.i[k] * (1 - s.g[k] * s.g[k]);
      dc[k] *= s.f[k];
    }
    const Vector a = wi.times(di, true), b = wf.times(df, true), g = wg.times(dg, true),
                 o = wo.times(d_o, true);
    for (std::size_t k = 0; k < kSize; ++k) dh[k] = a[k] + b[k] + g[k] + o[k];
    norms.push_back(std::hypot(norm(dh), norm(dc)));
  }
  print("lstm", forget_bias, seed, norms);
}

// Print the norms of the gradient of the last output of one head over kSteps + 1 tokens, with respect to the
// token k positions before the last token.
static void attention(std::uint64_t seed) {
  regard::Learner learner;
  const auto x = learner.parameter("x", regard::random_normal({kSteps + 1, kSize}, seed, "x", 0.5F));
  const auto matrix = [&](const char* name) {
    return learner.parameter(name, regard::random_normal({kSize, kSize}, seed, name, 0.18F));
  };
  const auto q = learner.linear(x, matrix("q")), k = learner.linear(x, matrix("k")),
             v = learner.linear(x, matrix("v"));
  const std::int32_t last[] = {static_cast<std::int32_t>(kSteps)};
  const regard::Tensor zero = regard::Tensor::zeros({1, kSize});
  learner.backward(learner.squared_error(learner.embedding(learner.attention(q, k, v), last), zero));
  Vector norms;
  for (std::size_t back = 0; back <= kSteps; ++back) {
    const float* row = learner.gradient(x).row(static_cast<std::int64_t>(kSteps - back));
    norms.push_back(norm(Vector(row, row + kSize)));
  }
  // For distance 0, the gradient also includes the path through the query. It is replaced with the gradient
  // for distance 1.
  norms[0] = norms[1];
  print("attention", 0, seed, norms);
}

int main() {
  for (const std::uint64_t seed : {1, 2, 3}) {
    for (const double gain : {0.8, 1.5, 3.0}) plain(gain, seed);
    for (const double bias : {0.0, 3.0}) lstm(bias, seed);
    attention(seed);
  }
}
