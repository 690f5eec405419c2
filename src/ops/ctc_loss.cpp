#include "ops/ctc_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/check.h"

namespace regard::ops {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// Return log(exp(a) + exp(b) + exp(c)).
double log_sum(double a, double b, double c = kNever) {
  const double most = std::max(a, std::max(b, c));
  if (most == kNever) return kNever;
  return most + std::log(std::exp(a - most) + std::exp(b - most) + std::exp(c - most));
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
  // Return true if a step may skip the blank before `state`.
  bool skips(std::int64_t state) const {
    return state >= 2 && label(state) != label(state - 2) && state % 2 == 1;
  }
};

std::vector<double> log_probabilities(const CtcSequence& sequence) {
  std::vector<double> all(static_cast<std::size_t>(sequence.frames * sequence.labels));
  for (std::int64_t t = 0; t < sequence.frames; ++t) {
    const float* row = sequence.logits + t * sequence.labels;
    const auto most = static_cast<double>(*std::max_element(row, row + sequence.labels));
    double sum = 0;
    for (std::int64_t c = 0; c < sequence.labels; ++c) sum += std::exp(static_cast<double>(row[c]) - most);
    const double normaliser = most + std::log(sum);
    for (std::int64_t c = 0; c < sequence.labels; ++c)
      all[static_cast<std::size_t>(t * sequence.labels + c)] = static_cast<double>(row[c]) - normaliser;
  }
  return all;
}

// Return α[t, s], the log of the total probability of all paths through frames 0 … t that end in state s.
std::vector<double> forward_paths(const CtcSequence& sequence, const std::vector<double>& log_p) {
  const std::int64_t states = sequence.states();
  std::vector<double> alpha(static_cast<std::size_t>(sequence.frames * states), kNever);
  const auto p = [&](std::int64_t t, std::int64_t s) {
    return log_p[static_cast<std::size_t>(t * sequence.labels + sequence.label(s))];
  };
  for (std::int64_t s = 0; s < std::min<std::int64_t>(2, states); ++s)
    alpha[static_cast<std::size_t>(s)] = p(0, s);
  for (std::int64_t t = 1; t < sequence.frames; ++t) {
    const double* before = alpha.data() + (t - 1) * states;
    for (std::int64_t s = 0; s < states; ++s)
      alpha[static_cast<std::size_t>(t * states + s)] =
          p(t, s) +
          log_sum(before[s], s >= 1 ? before[s - 1] : kNever, sequence.skips(s) ? before[s - 2] : kNever);
  }
  return alpha;
}

// Compute gradient[t, c] = factor · (softmax[t, c] − Σ of the posterior probabilities of states with label
// c).
void write_gradient(const CtcSequence& sequence, const std::vector<double>& log_p,
                    const std::vector<double>& alpha, double loss, double factor, float* gradient) {
  const std::int64_t states = sequence.states(), labels = sequence.labels;
  std::vector<double> beta(static_cast<std::size_t>(states), kNever), next(beta);
  std::vector<double> posterior(static_cast<std::size_t>(labels));
  const auto p = [&](std::int64_t t, std::int64_t s) {
    return log_p[static_cast<std::size_t>(t * labels + sequence.label(s))];
  };
  for (std::int64_t t = sequence.frames - 1; t >= 0; --t) {
    for (std::int64_t s = 0; s < states; ++s) {
      const auto at = [&](std::int64_t state) {
        return state < states ? next[static_cast<std::size_t>(state)] + p(t + 1, state) : kNever;
      };
      if (t == sequence.frames - 1)
        beta[static_cast<std::size_t>(s)] = s >= states - 2 ? 0.0 : kNever;
      else
        beta[static_cast<std::size_t>(s)] =
            log_sum(at(s), at(s + 1), s + 2 < states && sequence.skips(s + 2) ? at(s + 2) : kNever);
    }
    std::fill(posterior.begin(), posterior.end(), 0.0);
    for (std::int64_t s = 0; s < states; ++s)
      posterior[static_cast<std::size_t>(sequence.label(s))] += std::exp(
          alpha[static_cast<std::size_t>(t * states + s)] + beta[static_cast<std::size_t>(s)] + loss);
    for (std::int64_t c = 0; c < labels; ++c)
      gradient[t * labels + c] =
          static_cast<float>(factor * (std::exp(log_p[static_cast<std::size_t>(t * labels + c)]) -
                                       posterior[static_cast<std::size_t>(c)]));
    std::swap(beta, next);
  }
}

// Return the loss. Unless `gradient` is null, write factor · (gradient of the loss) to it.
double sequence_loss(const CtcSequence& sequence, const CtcOptions& options, double factor, float* gradient) {
  const std::int64_t elements = sequence.frames * sequence.labels, states = sequence.states();
  double loss = sequence.targets.empty() ? 0.0 : -kNever;
  if (sequence.frames > 0) {
    const std::vector<double> log_p = log_probabilities(sequence);
    const std::vector<double> alpha = forward_paths(sequence, log_p);
    const double* last = alpha.data() + (sequence.frames - 1) * states;
    loss = -log_sum(last[states - 1], states >= 2 ? last[states - 2] : kNever);
    if (gradient != nullptr && std::isfinite(loss))
      write_gradient(sequence, log_p, alpha, loss, factor, gradient);
  }
  if (loss != -kNever) return loss;
  if (gradient != nullptr)
    std::fill_n(gradient, elements, options.zero_infinity ? 0.0f : std::numeric_limits<float>::quiet_NaN());
  return options.zero_infinity ? 0.0 : loss;
}

struct CtcNode : Tape::Node {
  Var logits;
  const float* gradient;  // gradient of the loss
  static void backward(CtcNode& node, Tape& tape) {
    const Tape::Gradient to = tape.gradient(node.logits);
    if (!node.out->gradient_started || to.data == nullptr) return;
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
    throw shape_error("CTC loss", "the offsets do not fit the frames or the targets", {{"logits", logits}});
  require_ids("CTC loss", targets, logits->value.columns());
  if (options.blank < 0 || options.blank >= logits->value.columns())
    throw usage_error("CTC loss: the blank is not one of the labels")
        .found(std::to_string(options.blank))
        .expected("a label from 0 to " + std::to_string(logits->value.columns() - 1));
  if (std::find(targets.begin(), targets.end(), options.blank) != targets.end())
    throw input_error("CTC loss: a target is the blank").found(std::to_string(options.blank));
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
