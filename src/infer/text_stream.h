// The text of a generation as its tokens come: never half a character, and nothing of a stop string.
#pragma once

#include <span>
#include <string>

#include "infer/loaded_model.h"
#include "infer/stop_strings.h"

namespace regard::infer {

class TextStream {
 public:
  // Behind a prompt the first word keeps its space.
  TextStream(const LoadedModel& model, const SearchOptions& search, std::span<const std::int32_t> prompt = {})
      : decoder_(model.target), filter_(search.stop_strings) {
    for (const std::int32_t id : prompt) decoder_.push(id);
  }

  // What has become certain with this token.
  std::string push(std::int32_t token) {
    ++pushed_;
    return filter_.push(decoder_.push(token));
  }
  // What is left of a hypothesis, with the tokens of it that were not pushed.
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
