// Mask filling: which tokens a masked language model puts in place of the mask token, as transformers'
// fill-mask pipeline gives them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/pass.h"
#include "tasks/reader.h"

namespace regard::tasks {

struct Filling {
  std::int32_t token = 0;
  std::string text;      // the token
  float score = 0.0f;    // its probability
  std::string sequence;  // the whole text with it; other masks stay
};

struct FillOptions {
  Options reading;
  // Not empty: only these are chosen from, each a token of the vocabulary or a text whose first token is
  // meant; their scores stay those among the whole vocabulary.
  std::vector<std::string> targets;
};

class Filler {
 public:
  // All are kept by reference. Throws usage where the model fills no masks or a target is no token, bad_file
  // where the tokenizer has no mask token.
  Filler(const infer::LoadedModel& loaded, ThreadPool& pool, const FillOptions& options = {});

  const std::string& mask() const { return mask_; }  // "[MASK]", "<mask>"

  // Special tokens in the text are meant as such. Throws bad_file where no mask is among them, or the text is
  // too long.
  Input read(std::string_view text) const;

  // For each input, for each of its masks in their order, the best `count` tokens, best first.
  std::vector<std::vector<std::vector<Filling>>> fill(std::span<const Input> inputs, std::size_t count);

 private:
  std::vector<Filling> best_at(const Input& input, std::size_t place, std::span<const float> logits,
                               std::size_t count, bool alone) const;

  const infer::LoadedModel& loaded_;
  Reader reader_;
  Pass pass_;
  std::vector<std::int32_t> targets_;  // ascending; empty: every token
  std::string mask_;
  std::int32_t mask_id_ = -1;
};

}  // namespace regard::tasks
