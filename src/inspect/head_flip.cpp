#include "inspect/head_flip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "inspect/answer_pass.h"
#include "inspect/sweep_state.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

class Flipping {
 public:
  Flipping(Network& model, ThreadPool& pool, const PassInput& input, const AnswerDifference& answer,
           const EditedPass* edits)
      : model_(model),
        pool_(pool),
        input_(input),
        answer_(answer),
        edits_(edits),
        points_(ModelPoints::of(model, pool)) {}

  // Open the state file and read its measurements. The file must belong to a search with the same input,
  // answer and interventions, and with `whole` as the logit difference of the unablated model.
  void open_state(const std::filesystem::path& path, double whole) {
    state_.open(path, {{"study", "flip"},
                       {"answer", text_of(answer_)},
                       {"an input with the hash", hash_of(input_)},
                       {"interventions", edits_ == nullptr ? "" : edits_->text()},
                       {"a model with the difference", fmt::format("{:.17g}", whole)}});
  }

  double without(const std::vector<Head>& heads) {
    return state_.value_of("", text_of(heads), [&] {
      EditedPass off(edits_);
      for (const Head& head : heads) off.add(points_.of_head(head));
      return answer_difference(model_, pool_, input_, answer_, &off);
    });
  }

  // Return the head that lowers the logit difference most if it is ablated in addition to `off`.
  FlipStep best_step(const std::vector<Head>& off) {
    FlipStep best;
    bool any = false;
    for (const Head& head : points_.all_heads()) {
      if (std::find(off.begin(), off.end(), head) != off.end()) continue;
      std::vector<Head> more = off;
      more.push_back(head);
      const double difference = without(more);
      if (!any || std::isnan(best.difference) || difference < best.difference) best = {head, difference};
      any = true;
    }
    return best;
  }

  std::size_t heads() const { return points_.all_heads().size(); }

  // Remove each head from flip.needed if the answer stays flipped without ablating it. After each removal,
  // restart from the first head, because other heads may have become unnecessary.
  void remove_heads(HeadFlip& flip) {
    for (std::size_t i = 0; i < flip.needed.size();) {
      std::vector<Head> fewer = flip.needed;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      i = keep_if_flipped(flip, fewer) ? 0 : i + 1;
    }
  }

  // Replace two heads of flip.needed with one other head, if the answer stays flipped. Return false if there
  // is no such replacement.
  bool exchange(HeadFlip& flip, const std::function<void()>& between) {
    const std::vector<Head> all = points_.all_heads();
    for (std::size_t second = 1; second < flip.needed.size(); ++second)
      for (std::size_t first = 0; first < second; ++first) {
        between();
        for (const Head& head : all) {
          if (std::ranges::find(flip.needed, head) != flip.needed.end()) continue;
          std::vector<Head> fewer = flip.needed;
          fewer[first] = head;
          fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(second));
          if (keep_if_flipped(flip, fewer)) return true;
        }
      }
    return false;
  }

 private:
  bool keep_if_flipped(HeadFlip& flip, const std::vector<Head>& heads) {
    const double difference = without(heads);
    if (!(difference <= 0)) return false;  // NaN does not flip the answer
    flip.needed = heads, flip.difference = difference;
    return true;
  }

  Network& model_;
  ThreadPool& pool_;
  const PassInput& input_;
  AnswerDifference answer_;
  const EditedPass* edits_;
  ModelPoints points_;
  SweepState state_{"heads off", "difference"};
};

}  // namespace

HeadFlip flip_answer(Network& model, ThreadPool& pool, const PassInput& input, const AnswerDifference& answer,
                     const FlipOptions& options) {
  Flipping flipping(model, pool, input, answer, options.edits);
  HeadFlip flip;
  EditedPass edits(options.edits);
  flip.whole = flip.difference = answer_difference(model, pool, input, answer, &edits);
  require_finite(flip.whole);
  if (!options.state.empty()) flipping.open_state(options.state, flip.whole);
  std::vector<Head> off;
  const auto report = [&] {
    if (options.progress &&
        !options.progress(static_cast<double>(off.size()) / static_cast<double>(options.most)))
      throw cancelled_error("the study was stopped");
  };
  while (flip.difference > 0 && std::ssize(off) < options.most && off.size() < flipping.heads()) {
    flip.steps.push_back(flipping.best_step(off));
    off.push_back(flip.steps.back().head);
    flip.difference = flip.steps.back().difference;
    report();
  }
  flip.flipped = flip.difference <= 0;
  if (!flip.flipped) return flip;
  flip.needed = off;
  do flipping.remove_heads(flip);
  while (flipping.exchange(flip, report));
  return flip;
}

}  // namespace regard::inspect
