// Whisper's special tokens (Radford et al. 2022, section 2.3), from generation_config.json or the tokenizer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "infer/loaded_model.h"

namespace regard::tasks {

struct WhisperTokens {
  std::int32_t start = -1, end = -1;
  // token that disables timestamps; the ids after it are the timestamps 0.00, 0.02, … seconds
  std::int32_t no_timestamps = -1;
  std::int32_t no_speech = -1;
  // token that precedes the text of previous windows; −1 if the model has no such token
  std::int32_t previous = -1;
  std::int32_t transcribe = -1, translate = -1;  // task tokens; −1 if the model has only one task
  // ids by code ("en"); empty if the model has only one language
  std::map<std::string, std::int32_t> languages;
  // maximum of a window's first timestamp, in steps of 0.02 s; −1 means no limit
  std::int64_t latest_first = -1;

  std::int32_t first_time() const { return no_timestamps + 1; }

  // Throws usage if the model is not Whisper, and bad_file for invalid keys.
  static WhisperTokens of(const infer::LoadedModel& loaded);

  // Return the tokens that begin a window. `language` is a code; empty means no language token. Throws usage
  // if the model has no such language or no translation.
  std::vector<std::int32_t> beginning(const std::string& language, bool translates, bool timestamps) const;
  std::string code_of(std::int32_t language) const;  // returns "" if `language` is not a language token
};

}  // namespace regard::tasks
