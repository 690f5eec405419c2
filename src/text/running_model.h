// Interface of models that compare f32 sums of scores along the whole text (sentencepiece's unigram). If two
// segmentations have nearly equal scores, rounding of the sum so far can decide between them.
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
  // A part of a text is segmented into items. An item is an id (at least 0) with its score; silent(id), an id
  // without a score; or unknown_scores(n), n times the unknown score without an id.
  static constexpr std::int32_t silent(std::int32_t id) { return -1 - id; }
  static constexpr std::int32_t unknown_scores(std::int32_t count) { return -count - (1 << 30); }
  static constexpr bool is_unknown_scores(std::int32_t item) { return item < -(1 << 30); }

  // Append the items of `part`, given the sum of scores `so_far`. Return the margin by which the best
  // segmentation is better than any other. `settled`, if set, is called periodically and may consume and
  // clear the items.
  using Settled = std::function<void()>;
  virtual float cut(std::string_view part, float so_far, IdBuffer& items, const Settled& settled) const = 0;
  // Data of items, indexed by id. Valid during the lifetime of the model.
  struct Tables {
    const float* scores = nullptr;
    const std::int32_t* outside = nullptr;  // output id of each item; null if output ids equal item ids
    float unknown_score = 0;
  };
  virtual Tables tables() const = 0;
  virtual float largest_score() const = 0;  // largest absolute value of a score

  // Return the largest sum of preceding scores (`so_far`) for which a segmentation computed with `so_far` = 0
  // is certainly still the best one. The part has `bytes` bytes. Each addition rounds by at most half a unit
  // in the last place.
  float safe_up_to(float margin, std::size_t bytes) const {
    const auto size = static_cast<float>(bytes);
    return margin * 0x1p23F / (2 * size + 4) - size * largest_score();
  }
};

}  // namespace regard::text
