#include "ops/group_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/check.h"

namespace regard::ops {
namespace {

struct GroupStatistics {
  double mean, inverse_deviation;
};

struct GroupNormProblem {
  std::span<const std::int32_t> offsets;
  std::int64_t channels, groups;
  GroupStatistics* statistics;  // [sequences, groups]

  std::int64_t in_group() const { return channels / groups; }
  // Number of groups per task. Adjacent channels share cache lines, so a task computes the groups of up to
  // 16 channels, or one larger group.
  std::int64_t together() const { return std::max<std::int64_t>(1, 16 / in_group()); }
  std::int64_t tasks() const { return (groups + together() - 1) / together(); }

  // Call body(sequence, first group, end group) for every task.
  template <class Body>
  void each(ThreadPool& pool, Body&& body) const {
    const std::int64_t sequences = std::ssize(offsets) - 1;
    pool.parallel_for(sequences * tasks(), [&](std::int64_t task, int) {
      const std::int64_t first = task % tasks() * together();
      body(static_cast<std::size_t>(task / tasks()), first, std::min(groups, first + together()));
    });
  }
};

// Return one sum for each group in [first, end): the sum of value(frame, channel) over the group's channels
// and the frames of sequence s.
template <class Value>
std::vector<double> group_sums(const GroupNormProblem& problem, std::size_t s, std::int64_t first,
                               std::int64_t end, Value&& value) {
  const std::int64_t in_group = problem.in_group(), begin = first * in_group,
                     count = (end - first) * in_group;
  std::vector<double> sums(static_cast<std::size_t>(count), 0.0);
  for (std::int64_t t = problem.offsets[s]; t < problem.offsets[s + 1]; ++t)
    for (std::int64_t c = 0; c < count; ++c) sums[static_cast<std::size_t>(c)] += value(t, begin + c);
  std::vector<double> groups(static_cast<std::size_t>(end - first), 0.0);
  for (std::int64_t c = 0; c < count; ++c)
    groups[static_cast<std::size_t>(c / in_group)] += sums[static_cast<std::size_t>(c)];
  return groups;
}

void normalise_groups(ThreadPool& pool, const GroupNormProblem& problem, double epsilon, const float* x,
                      const float* gain, const float* bias, float* y) {
  const std::int64_t channels = problem.channels, in_group = problem.in_group();
  problem.each(pool, [&](std::size_t s, std::int64_t first, std::int64_t end) {
    GroupStatistics* statistics = problem.statistics + static_cast<std::int64_t>(s) * problem.groups;
    const auto at = [&](std::int64_t t, std::int64_t c) { return static_cast<double>(x[t * channels + c]); };
    const double size = static_cast<double>((problem.offsets[s + 1] - problem.offsets[s]) * in_group);
    const std::vector<double> sums = group_sums(problem, s, first, end, at);
    for (std::int64_t g = first; g < end; ++g)
      statistics[g].mean = sums[static_cast<std::size_t>(g - first)] / size;
    const std::vector<double> squares =
        group_sums(problem, s, first, end, [&](std::int64_t t, std::int64_t c) {
          const double centred = at(t, c) - statistics[c / in_group].mean;
          return centred * centred;
        });
    for (std::int64_t g = first; g < end; ++g)
      statistics[g].inverse_deviation =
          1.0 / std::sqrt(squares[static_cast<std::size_t>(g - first)] / size + epsilon);
    for (std::int64_t t = problem.offsets[s]; t < problem.offsets[s + 1]; ++t)
      for (std::int64_t c = first * in_group; c < end * in_group; ++c) {
        const GroupStatistics& own = statistics[c / in_group];
        const double normed = (at(t, c) - own.mean) * own.inverse_deviation;
        y[t * channels + c] =
            static_cast<float>(normed * (gain == nullptr ? 1.0 : static_cast<double>(gain[c])) +
                               (bias == nullptr ? 0.0 : static_cast<double>(bias[c])));
      }
  });
}

struct GroupNormNode : Tape::Node {
  Var x, gain, bias;
  GroupNormProblem problem;
  static void backward(GroupNormNode& node, Tape& tape);
  void channel_gradients(const float* dy, float* dgain, float* dbias) const;
};

}  // namespace

Var group_norm(Tape& tape, Var x, Var gain, Var bias, std::span<const std::int32_t> offsets,
               const GroupNormOptions& options) {
  require_matrix("group norm", "x", x);
  require_contiguous("group norm", "x", x);
  const std::int64_t channels = x->value.columns();
  require_vector("group norm", "gain", gain, channels);
  require_vector("group norm", "bias", bias, channels);
  if (options.groups < 1 || channels % options.groups != 0)
    throw usage_error("group norm: the groups do not divide the channels")
        .found(std::to_string(options.groups) + " groups, " + std::to_string(channels) + " channels")
        .expected("a divisor of the number of channels");
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != x->value.rows() ||
      !std::is_sorted(offsets.begin(), offsets.end()))
    throw shape_error("group norm", "the offsets do not match the frames of x", {{"x", x}})
        .expected("ascending offsets from 0 to " + std::to_string(x->value.rows()));
  const bool wanted = tape.wanted({x, gain, bias});
  Var out = !wanted && options.overwrite ? x : tape.make(x->value.shape(), wanted);
  const std::span<std::int32_t> kept = tape.arena().copied(offsets);
  const auto count = (offsets.size() - 1) * static_cast<std::size_t>(options.groups);
  const GroupNormProblem problem{kept, channels, options.groups,
                                 tape.arena().array<GroupStatistics>(count).data()};
  normalise_groups(tape.pool(), problem, options.epsilon, x->value.f32(),
                   gain != nullptr ? gain->value.f32() : nullptr,
                   bias != nullptr ? bias->value.f32() : nullptr, out->value.f32());
  if (wanted) {
    GroupNormNode node{};
    node.x = x, node.gain = gain, node.bias = bias, node.out = out, node.problem = problem;
    tape.record(node);
  }
  return out;
}

namespace {

// Compute dgain += Σ dy ∘ normed and dbias += Σ dy, summed over the frames of all sequences in order.
void GroupNormNode::channel_gradients(const float* dy, float* dgain, float* dbias) const {
  const std::int64_t channels = problem.channels;
  for (std::int64_t c = 0; c < channels; ++c) {
    double gain_sum = 0, bias_sum = 0;
    for (std::size_t s = 0; s + 1 < problem.offsets.size(); ++s) {
      const GroupStatistics& own =
          problem.statistics[static_cast<std::int64_t>(s) * problem.groups + c / problem.in_group()];
      for (std::int64_t t = problem.offsets[s]; t < problem.offsets[s + 1]; ++t) {
        const auto slope = static_cast<double>(dy[t * channels + c]);
        gain_sum += slope * (static_cast<double>(x->value.f32()[t * channels + c]) - own.mean) *
                    own.inverse_deviation;
        bias_sum += slope;
      }
    }
    if (dgain != nullptr) dgain[c] += static_cast<float>(gain_sum);
    if (dbias != nullptr) dbias[c] += static_cast<float>(bias_sum);
  }
}

// Compute dx = inverse_deviation · (g − mean(g) − normed · mean(g ∘ normed)), where g = dy ∘ gain and the
// means are over a group's frames and channels.
void GroupNormNode::backward(GroupNormNode& node, Tape& tape) {
  const GroupNormProblem& problem = node.problem;
  const std::int64_t channels = problem.channels, in_group = problem.in_group();
  const float* dy = node.out->gradient.f32();
  const float* x = node.x->value.f32();
  const float* gain = node.gain != nullptr ? node.gain->value.f32() : nullptr;
  float* const dgain = tape.accumulated(node.gain);
  float* const dbias = tape.accumulated(node.bias);
  if (dgain != nullptr || dbias != nullptr) node.channel_gradients(dy, dgain, dbias);
  const Tape::Gradient dx = tape.gradient(node.x);
  if (dx.data == nullptr) return;
  problem.each(tape.pool(), [&](std::size_t s, std::int64_t first, std::int64_t end) {
    const GroupStatistics* statistics = problem.statistics + static_cast<std::int64_t>(s) * problem.groups;
    const double size = static_cast<double>((problem.offsets[s + 1] - problem.offsets[s]) * in_group);
    const auto slope = [&](std::int64_t t, std::int64_t c) {
      return static_cast<double>(dy[t * channels + c]) *
             (gain == nullptr ? 1.0 : static_cast<double>(gain[c]));
    };
    const auto normed = [&](std::int64_t t, std::int64_t c) {
      const GroupStatistics& own = statistics[c / in_group];
      return (static_cast<double>(x[t * channels + c]) - own.mean) * own.inverse_deviation;
    };
    const std::vector<double> slopes = group_sums(problem, s, first, end, slope);
    const std::vector<double> products = group_sums(
        problem, s, first, end, [&](std::int64_t t, std::int64_t c) { return slope(t, c) * normed(t, c); });
    for (std::int64_t t = problem.offsets[s]; t < problem.offsets[s + 1]; ++t)
      for (std::int64_t c = first * in_group; c < end * in_group; ++c) {
        const auto g = static_cast<std::size_t>(c / in_group - first);
        const double value = (slope(t, c) - slopes[g] / size - normed(t, c) * products[g] / size) *
                             statistics[c / in_group].inverse_deviation;
        float& to = dx.data[t * channels + c];
        to = static_cast<float>(value) + (dx.accumulate ? to : 0.0f);
      }
  });
}

}  // namespace
}  // namespace regard::ops
