// A model that chooses by sums of f32 scores along the whole text (sentencepiece's unigram): where two
// choices are nearly equal, what came before may tip the balance by its rounding.
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
  // One part of a text, in items: an id, at least 0, whose score counts; silent(id), an id without a score;
  // or unknown_scores(n), the score of what is unknown n times, without an id.
  static constexpr std::int32_t silent(std::int32_t id) { return -1 - id; }
  static constexpr std::int32_t unknown_scores(std::int32_t count) { return -count - (1 << 30); }
  static constexpr bool is_unknown_scores(std::int32_t item) { return item < -(1 << 30); }

  // Appends the items of `part` after scores that sum to `so_far`. Returns by how much the choice is the
  // best. If `settled` is given it is called now and then and may take the items and clear them.
  using Settled = std::function<void()>;
  virtual float cut(std::string_view part, float so_far, IdBuffer& items, const Settled& settled) const = 0;
  // What items stand for, by id; they last as long as the model.
  struct Tables {
    const float* scores = nullptr;
    const std::int32_t* outside = nullptr;  // as which id it is given out; null: as itself
    float unknown_score = 0;
  };
  virtual Tables tables() const = 0;
  virtual float largest_score() const = 0;  // in magnitude

  // How large `so_far` may be for a choice made after 0, in a part of `bytes`, to be the best still: each sum
  // is off by at most half a unit in the last place for each piece.
  float safe_up_to(float margin, std::size_t bytes) const {
    const auto size = static_cast<float>(bytes);
    return margin * 0x1p23F / (2 * size + 4) - size * largest_score();
  }
};

}  // namespace regard::text
