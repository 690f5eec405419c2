// Converts generated tokens to text, token by token. Emits only complete characters and no part of a stop
// string.
#pragma once

#include <span>
#include <string>

#include "infer/loaded_model.h"
#include "infer/stop_strings.h"

namespace regard::infer {

class TextStream {
 public:
  // The first word after `prompt` keeps its leading space. The stream shares ownership of the model's
  // tokenizer and of the stop strings.
  TextStream(const LoadedModel& model, const SearchOptions& search, std::span<const std::int32_t> prompt = {})
      : decoder_(model.target), filter_(search.stop_strings) {
    for (const std::int32_t id : prompt) decoder_.push(id);
  }

  // Return the new text that later tokens cannot change.
  std::string push(std::int32_t token) {
    ++pushed_;
    return filter_.push(decoder_.push(token));
  }
  // Push the remaining tokens of the hypothesis and return the rest of its text.
  std::string finish(const Hypothesis& hypothesis) {
    std::string rest;
    while (pushed_ < hypothesis.tokens.size()) rest += push(hypothesis.tokens[pushed_]);
    rest += filter_.push(decoder_.finish());
    return rest + filter_.finish();
  }

 private:
  text::StreamDecoder decoder_;
  StopFilter filter_;
  std::size_t pushed_ = 0;
};

}  // namespace regard::infer
