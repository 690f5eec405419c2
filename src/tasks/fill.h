// Mask filling: predict the tokens at the mask tokens of a text with a masked language model, as in
// transformers' fill-mask pipeline.
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
  std::string text;    // text of the token
  float score = 0.0f;  // probability of the token
  // The text with this mask replaced by the token. If the text has several masks, special tokens are
  // included.
  std::string sequence;
};

struct FillOptions {
  Options reading;
  // Candidates: tokens of the vocabulary, or texts, of which only the first token is used; empty means all
  // tokens. Scores are always probabilities over the whole vocabulary.
  std::vector<std::string> targets;
};

class Filler {
 public:
  // `loaded`, `pool` and the probe must outlive the filler. Throws usage if the model is not a masked
  // language model or a target has no tokens, bad_file if the tokenizer has no mask token.
  Filler(const infer::LoadedModel& loaded, ThreadPool& pool, const FillOptions& options = {});

  // spelling of the mask token, such as "[MASK]" or "<mask>"
  const std::string& mask() const { return mask_; }

  // Tokenise a text; special tokens in it are recognised. Throws invalid_input if it has no mask or is too
  // long.
  Input read(std::string_view text) const;
  std::size_t masks_of(const Input& input) const;  // number of mask tokens of the input

  // For each input and each of its masks, in order, return the `count` best tokens, best first. Throws
  // numeric if logits are not finite.
  std::vector<std::vector<std::vector<Filling>>> fill(std::span<const Input> inputs, std::size_t count);

 private:
  std::vector<Filling> best_at(const Input& input, std::size_t place, std::span<const float> logits,
                               std::size_t count, bool alone) const;

  const infer::LoadedModel& loaded_;
  Reader reader_;
  Pass pass_;
  std::vector<std::int32_t> targets_;  // ids of the candidates, ascending; empty means all tokens
  std::string mask_;
  std::int32_t mask_id_ = -1;
};

}  // namespace regard::tasks
