// Interface of models that sum scores in f32 from the start of the text (sentencepiece's unigram). If two
// segmentations of a part of the text have nearly equal scores, the rounding of these sums can decide between
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "text/word_cache.h"

namespace regard::text {

class RunningModel {
 public:
  virtual ~RunningModel() = default;
  // A segmentation is a list of integers (items):
  //   · a token id (at least 0) adds the token and its score;
  //   · silent(id) adds the token, but no score;
  //   · unknown_scores(n) adds n times Tables::unknown_score, but no token.
  static constexpr std::int32_t silent(std::int32_t id) { return -1 - id; }
  static constexpr std::int32_t unknown_scores(std::int32_t count) { return -count - (1 << 30); }
  static constexpr bool is_unknown_scores(std::int32_t item) { return item < -(1 << 30); }

  // Append the items of the best segmentation of `part`. Return the difference between the best and the
  // second-best score.
  // `so_far` is the sum of the scores before the part. `settled`, if set, is called periodically and may
  // consume and clear the items.
  using Settled = std::function<void()>;
  virtual float cut(std::string_view part, float so_far, IdBuffer& items, const Settled& settled) const = 0;
  // Scores and output ids of items, indexed by id. Valid during the lifetime of the model.
  struct Tables {
    const float* scores = nullptr;
    const std::int32_t* outside = nullptr;  // output id of each item; null if output ids equal item ids
    float unknown_score = 0;
  };
  virtual Tables tables() const = 0;
  virtual float largest_score() const = 0;  // largest absolute value of a score

  // Return a limit for |so_far|. Below it, cut() selects the same segmentation of a part of `bytes` bytes as
  // for `so_far` = 0, where cut() returned `margin`.
  // Each addition of a score rounds by at most half a unit in the last place.
  float safe_up_to(float margin, std::size_t bytes) const {
    const auto size = static_cast<float>(bytes);
    return margin * 0x1p23F / (2 * size + 4) - size * largest_score();
  }
};

}  // namespace regard::text
