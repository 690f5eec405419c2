#include "inspect/head_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "base/hash.h"
#include "inspect/finite_first.h"
#include "inspect/sweep_state.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

// Values of one batch with only HeadSweepOptions::off ablated: the outputs of the encoder, of every layer,
// and of the heads of every attention layer.
struct KnownPass {
  Tensor memory;
  PointCapture values;
  bool kept = false;
};

std::string stack_of(Kind kind) {
  return kind == Kind::encoder ? "encoder" : "decoder";
}

std::string residual_of(const std::string& stack, std::int64_t layer) {
  return fmt::format("{}.{}.residual", stack, layer);
}

class Sweep {
 public:
  Sweep(Network& model, ThreadPool& pool, const std::vector<StudyExample>& examples,
        const HeadSweepOptions& options)
      : pool_(pool),
        points_(ModelPoints::of(model, pool)),
        batches_(study_batches(model, examples)),
        edits_(options.edits),
        most_stored_(options.most_stored),
        off_(options.edits) {
    for (const Head& head : options.off) off_.add(points_.of_head(head));
    // throws usage for a head that does not exist
    for (const Head& head : options.heads) points_.of_head(head);
  }

  std::vector<Head> all_heads() const { return points_.all_heads(); }

  // Return the loss with only options.off ablated. Keep the values of the first batches, up to about
  // options.most_stored bytes; for all later batches, without() computes every layer again. Throws
  // invalid_input if there is nothing to predict, and numeric if the loss is not finite.
  StudyLoss start() {
    StudyLoss whole;
    known_.resize(batches_.size());
    std::size_t bytes = 0;
    for (std::size_t b = 0; b < batches_.size(); ++b) {
      const bool keeps = bytes < most_stored_;
      for (const auto& [point, features] : points_.features)
        if (keeps && (point.ends_with(".residual") || point.ends_with(".context")))
          known_[b].values.want(point);
      off_.set_observer(&known_[b].values);
      whole.add(batches_[b].loss(pool_, &off_, {}, keeps ? &known_[b].memory : nullptr));
      known_[b].kept = keeps;
      bytes += known_[b].memory.defined() ? known_[b].memory.bytes() : 0;
      for (const auto& [point, value] : known_[b].values.values())
        bytes += value.defined() ? value.bytes() : 0;
    }
    off_.set_observer(static_cast<Probe*>(nullptr));
    if (whole.count == 0)
      throw input_error("the texts contain no token to predict").expected("texts of at least two tokens");
    if (!std::isfinite(whole.sum))
      throw Error(ErrorKind::numeric, "the loss of the model on this data is not finite")
          .found(fmt::format("{}", whole.sum))
          .remedy("Check the weights for values that are not finite");
    return whole;
  }

  StudyLoss without(const Head& head) const {
    StudyLoss loss;
    for (std::size_t b = 0; b < batches_.size(); ++b) {
      InjectedPass known;
      if (known_[b].kept) reuse(known_[b].values, head, known);
      EditedPass edits(&known);
      edits.add(off_);
      edits.add(points_.of_head(head));
      const bool reads_memory = head.kind != Kind::encoder && known_[b].memory.defined();
      loss.add(batches_[b].loss(pool_, &edits, reads_memory ? known_[b].memory : Tensor()));
    }
    return loss;
  }

 private:
  // Skip the computations that do not depend on the head: all earlier layers, and the attention in the head's
  // layer up to the output projection. For a head of the encoder, also skip the self-attention of the
  // decoder's first layer.
  void reuse(const PointCapture& values, const Head& head, InjectedPass& known) const {
    const std::string stack = stack_of(head.kind);
    // Each layer gets its own output, because some networks also read the outputs of earlier layers.
    for (std::int64_t layer = 0; layer < head.layer; ++layer)
      known.skip(stack, layer, values.at(residual_of(stack, layer)));
    const auto skip_attention = [&](Kind kind, std::int64_t layer) {
      const std::string context = attention_name(kind, layer) + ".context";
      const auto found = values.values().find(context);
      // A stored context already contains the interventions, which must not be applied twice.
      const bool changed = edits_ != nullptr && edits_->changes(context);
      if (!changed && found != values.values().end() && found->second.defined())
        known.skip_attention(kind, layer, found->second);
    };
    skip_attention(head.kind, head.layer);
    if (head.kind == Kind::cross) skip_attention(Kind::decoder, head.layer);
    if (head.kind == Kind::encoder) skip_attention(Kind::decoder, 0);
  }

  ThreadPool& pool_;
  ModelPoints points_;
  std::vector<StudyBatch> batches_;
  const EditedPass* edits_;
  std::size_t most_stored_;
  EditedPass off_;  // interventions and ablations of all passes
  std::vector<KnownPass> known_;
};

// Return the settings that identify a sweep in its state file. The loss `whole` identifies the model's
// weights.
SweepSettings settings_of(const std::vector<StudyExample>& examples, const HeadSweepOptions& options,
                          const StudyLoss& whole) {
  std::string all;
  for (const StudyExample& example : examples) all += example.text + "\t" + example.target + "\n";
  return {{"study", "heads"},
          {"data", fmt::format("of {} examples with the hash {:016x}", examples.size(), xxh3(all))},
          {"predictions", fmt::format("{}", whole.count)},
          {"ablated heads", text_of(options.off)},
          {"interventions", options.edits == nullptr ? "" : options.edits->text()},
          {"a model with the loss", fmt::format("{:.17g}", whole.mean())}};
}

void sort_heads(std::vector<HeadLoss>& heads) {
  std::stable_sort(heads.begin(), heads.end(),
                   [](const HeadLoss& a, const HeadLoss& b) { return is_larger(a.lost, b.lost); });
}

// Measure the loss with each head ablated in addition to options.off and the heads of `added`. Losses that
// `state` contains are not computed again; new losses are added to `state`.
HeadSweep sweep_with(Network& model, ThreadPool& pool, const std::vector<StudyExample>& examples,
                     HeadSweepOptions options, const std::vector<Head>& added, SweepState& state) {
  const std::string names = text_of(added);
  const HeadSweepOptions given = options;
  options.off.insert(options.off.end(), added.begin(), added.end());
  Sweep sweep(model, pool, examples, options);
  const StudyLoss whole = sweep.start();
  if (!options.state.empty()) state.open(options.state, settings_of(examples, given, whole));
  const std::set<Head> off(options.off.begin(), options.off.end());
  std::vector<Head> heads = options.heads.empty() ? sweep.all_heads() : options.heads;
  std::erase_if(heads, [&](const Head& head) { return off.count(head) != 0; });
  HeadSweep result{whole.mean(), whole.count, {}};
  for (std::size_t i = 0; i < heads.size(); ++i) {
    const double loss =
        state.value_of(names, heads[i].text(), [&] { return sweep.without(heads[i]).mean(); });
    result.heads.push_back({heads[i], loss, loss - result.loss});
    if (options.progress && !options.progress(static_cast<double>(i + 1) / static_cast<double>(heads.size())))
      throw cancelled_error("the sweep was stopped");
  }
  sort_heads(result.heads);
  return result;
}

}  // namespace

HeadSweep sweep_heads(Network& model, ThreadPool& pool, const std::vector<StudyExample>& examples,
                      const HeadSweepOptions& options) {
  SweepState state;
  return sweep_with(model, pool, examples, options, {}, state);
}

HeadSet sweep_head_sets(Network& model, ThreadPool& pool, const std::vector<StudyExample>& examples,
                        std::int64_t most_heads, HeadSweepOptions options) {
  HeadSet set;
  SweepState state;
  std::vector<Head> added;
  const auto progress = options.progress;
  for (std::int64_t step = 0; step < most_heads; ++step) {
    if (progress)
      options.progress = [&](double share) {
        return progress((static_cast<double>(step) + share) / static_cast<double>(most_heads));
      };
    const HeadSweep sweep = sweep_with(model, pool, examples, options, added, state);
    if (step == 0) set.loss = sweep.loss;
    if (sweep.heads.empty()) break;
    HeadLoss best = sweep.heads.front();
    best.lost = best.loss - set.loss;
    set.steps.push_back(best);
    added.push_back(best.head);
  }
  return set;
}

}  // namespace regard::inspect
