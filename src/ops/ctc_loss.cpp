#include "ops/ctc_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/ctc.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Number of padding elements, each −∞: before the first state in the forward recursion, after the last state
// in the backward recursion.
constexpr std::int64_t kPadding = 2;

// Return log(exp(a) + exp(b)).
double log_sum(double a, double b) {
  const double most = std::max(a, b);
  return most == kNever ? kNever : most + std::log(std::exp(a - most) + std::exp(b - most));
}

// One sequence with L target labels. Its states 0 … 2L are: blank, label 0, blank, label 1, …, blank.
struct CtcSequence {
  std::int64_t frames, labels;  // labels: size of the model's label set
  const float* logits;          // [frames, labels]
  std::span<const std::int32_t> targets;
  std::int32_t blank;

  std::int64_t states() const { return 2 * std::ssize(targets) + 1; }
  std::int32_t label(std::int64_t state) const {
    return state % 2 == 0 ? blank : targets[static_cast<std::size_t>(state / 2)];
  }
  // Return true if a path may go from state − 2 directly to `state`, without the blank between them.
  bool skips(std::int64_t state) const {
    return state >= 2 && label(state) != label(state - 2) && state % 2 == 1;
  }
};

// Arrays of the forward and backward recursions over the frames of one sequence.
struct CtcArrays {
  std::int64_t row;              // number of elements of one frame in alpha
  std::vector<double> log_p;     // [frames, labels]: log-probabilities
  std::vector<double> alpha;     // [frames, row]: kPadding elements −∞, then α of forward_paths()
  std::vector<double> skip;      // [row]: 0 if CtcSequence::skips(state), else −∞
  std::vector<double> emission;  // [states]: log-probabilities of the states' labels in one frame

  explicit CtcArrays(const CtcSequence& sequence)
      : row(sequence.states() + kPadding),
        log_p(static_cast<std::size_t>(sequence.frames * sequence.labels)),
        alpha(static_cast<std::size_t>(sequence.frames * row), kNever),
        skip(static_cast<std::size_t>(row), kNever),
        emission(static_cast<std::size_t>(sequence.states())) {
    kernels::ctc_log_softmax(sequence.logits, sequence.frames, sequence.labels, log_p.data());
    for (std::int64_t s = 0; s < sequence.states(); ++s)
      if (sequence.skips(s)) skip[static_cast<std::size_t>(s)] = 0.0;
  }

  double* alpha_of(std::int64_t frame) { return alpha.data() + frame * row + kPadding; }
  void read_emission(const CtcSequence& sequence, std::int64_t frame) {
    const double* p = log_p.data() + frame * sequence.labels;
    for (std::int64_t s = 0; s < sequence.states(); ++s)
      emission[static_cast<std::size_t>(s)] = p[sequence.label(s)];
  }
};

// Compute α[t, s], the log of the total probability of all paths through frames 0 … t that end in state s.
void forward_paths(const CtcSequence& sequence, CtcArrays& arrays) {
  const std::int64_t states = sequence.states();
  arrays.read_emission(sequence, 0);
  std::copy_n(arrays.emission.data(), std::min<std::int64_t>(2, states), arrays.alpha_of(0));
  for (std::int64_t t = 1; t < sequence.frames; ++t) {
    arrays.read_emission(sequence, t);
    const double* before = arrays.alpha_of(t - 1);
    kernels::ctc_step({states, before, before - 1, before - 2, arrays.skip.data(), arrays.emission.data(),
                       nullptr, arrays.alpha_of(t)});
  }
}

// Compute gradient[t, c] = factor · (softmax[t, c] − sum of the posterior probabilities of the states with
// label c).
// In frame t, `beta` contains for each state the log of the total probability of all paths from the state
// through the later frames. `with_own` also includes the probability of the state's label in frame t.
void write_gradient(const CtcSequence& sequence, CtcArrays& arrays, double loss, double factor,
                    float* gradient) {
  const std::int64_t states = sequence.states(), labels = sequence.labels;
  std::vector<double> beta(static_cast<std::size_t>(states)), posteriors(beta);
  std::vector<double> with_own(static_cast<std::size_t>(arrays.row), kNever), next(with_own);
  std::vector<double> softmax(static_cast<std::size_t>(labels)), of_label(softmax);
  for (std::int64_t t = sequence.frames - 1; t >= 0; --t) {
    arrays.read_emission(sequence, t);
    if (t == sequence.frames - 1) {
      for (std::int64_t s = 0; s < states; ++s) {
        const auto at = static_cast<std::size_t>(s);
        beta[at] = s >= states - 2 ? 0.0 : kNever;
        with_own[at] = beta[at] + arrays.emission[at];
      }
    } else {
      const double* later = next.data();
      kernels::ctc_step({states, later, later + 1, later + 2, arrays.skip.data() + 2, arrays.emission.data(),
                         beta.data(), with_own.data()});
    }
    kernels::ctc_exp(arrays.alpha_of(t), beta.data(), loss, posteriors.data(), states);
    std::fill(of_label.begin(), of_label.end(), 0.0);
    for (std::int64_t s = 0; s < states; ++s)
      of_label[static_cast<std::size_t>(sequence.label(s))] += posteriors[static_cast<std::size_t>(s)];
    kernels::ctc_exp(arrays.log_p.data() + t * labels, nullptr, 0.0, softmax.data(), labels);
    for (std::size_t c = 0; c < of_label.size(); ++c)
      gradient[static_cast<std::size_t>(t * labels) + c] =
          static_cast<float>(factor * (softmax[c] - of_label[c]));
    std::swap(with_own, next);
  }
}

// Return the loss. Unless `gradient` is null, write factor · (gradient of the loss) to it.
double sequence_loss(const CtcSequence& sequence, const CtcOptions& options, double factor, float* gradient) {
  const std::int64_t elements = sequence.frames * sequence.labels, states = sequence.states();
  double loss = sequence.targets.empty() ? 0.0 : -kNever;
  if (sequence.frames > 0) {
    CtcArrays arrays(sequence);
    // If a logit of a frame is NaN or +∞, all log-probabilities of the frame are NaN.
    for (std::int64_t t = 0; t < sequence.frames; ++t)
      if (std::isnan(arrays.log_p[static_cast<std::size_t>(t * sequence.labels)])) {
        if (gradient != nullptr) std::fill_n(gradient, elements, kNan);
        return static_cast<double>(kNan);
      }
    forward_paths(sequence, arrays);
    const double* last = arrays.alpha_of(sequence.frames - 1);
    loss = -log_sum(last[states - 1], states >= 2 ? last[states - 2] : kNever);
    if (gradient != nullptr && loss != -kNever) write_gradient(sequence, arrays, loss, factor, gradient);
  }
  if (loss != -kNever) return loss;
  if (gradient != nullptr) std::fill_n(gradient, elements, options.zero_infinity ? 0.0f : kNan);
  return options.zero_infinity ? 0.0 : loss;
}

struct CtcNode : Tape::Node {
  Var logits;
  const float* gradient;  // d loss / d logits
  static void backward(CtcNode& node, Tape& tape) {
    const Tape::Gradient to = tape.gradient(node.logits);
    if (to.data == nullptr) return;
    const float slope = node.out->gradient.f32()[0];
    for (std::int64_t i = 0; i < node.logits->value.elements(); ++i)
      to.data[i] = slope * node.gradient[i] + (to.accumulate ? to.data[i] : 0.0f);
  }
};

void check_ctc(Var logits, std::span<const std::int32_t> offsets, std::span<const std::int32_t> targets,
               std::span<const std::int32_t> target_offsets, const CtcOptions& options) {
  require_matrix("CTC loss", "logits", logits);
  require_contiguous("CTC loss", "logits", logits);
  const auto fit = [](std::span<const std::int32_t> all, std::int64_t end) {
    return !all.empty() && all.front() == 0 && all.back() == end && std::is_sorted(all.begin(), all.end());
  };
  if (!fit(offsets, logits->value.rows()) || !fit(target_offsets, std::ssize(targets)) ||
      offsets.size() != target_offsets.size())
    throw usage_error("CTC loss: the offsets do not match the frames or the targets")
        .found(std::to_string(offsets.size()) + " frame offsets, " + std::to_string(target_offsets.size()) +
               " target offsets")
        .expected("equal numbers of ascending offsets, from 0 to " + std::to_string(logits->value.rows()) +
                  " frames and " + std::to_string(targets.size()) + " targets");
  require_ids("CTC loss", targets, logits->value.columns());
  if (options.blank < 0 || options.blank >= logits->value.columns())
    throw usage_error("CTC loss: the blank is not one of the labels")
        .found("id " + std::to_string(options.blank))
        .expected("an id from 0 to " + std::to_string(logits->value.columns() - 1));
  if (std::find(targets.begin(), targets.end(), options.blank) != targets.end())
    throw input_error("CTC loss: a target is the blank")
        .found("id " + std::to_string(options.blank))
        .expected("ids other than the blank");
}

}  // namespace

Var ctc_loss(Tape& tape, Var logits, std::span<const std::int32_t> offsets,
             std::span<const std::int32_t> targets, std::span<const std::int32_t> target_offsets,
             const CtcOptions& options) {
  check_ctc(logits, offsets, targets, target_offsets, options);
  const bool wanted = tape.wanted({logits});
  const std::int64_t sequences = std::ssize(offsets) - 1, labels = logits->value.columns();
  Var out = tape.make({1}, wanted);
  float* const gradient = wanted ? tape.arena().tensor(logits->value.shape()).f32() : nullptr;
  const std::span<double> losses = tape.arena().array<double>(static_cast<std::size_t>(sequences));
  tape.pool().parallel_for(sequences, [&](std::int64_t task, int) {
    const auto s = static_cast<std::size_t>(task);
    const CtcSequence sequence{
        offsets[s + 1] - offsets[s], labels, logits->value.row(offsets[s]),
        targets.subspan(static_cast<std::size_t>(target_offsets[s]),
                        static_cast<std::size_t>(target_offsets[s + 1] - target_offsets[s])),
        options.blank};
    auto factor = static_cast<double>(options.factor);
    if (options.mean)
      factor /= static_cast<double>(std::max<std::size_t>(1, sequence.targets.size())) *
                static_cast<double>(sequences);
    losses[s] = factor * sequence_loss(sequence, options, factor,
                                       gradient == nullptr ? nullptr : gradient + offsets[s] * labels);
  });
  double sum = 0;
  for (const double loss : losses) sum += loss;
  out->value.f32()[0] = static_cast<float>(sum);
  if (wanted) {
    CtcNode node{};
    node.logits = logits, node.out = out, node.gradient = gradient;
    tape.record(node);
  }
  return out;
}

}  // namespace regard::ops
