// The labels of a CTC model as files: vocab.json and tokenizer_config.json, read as by transformers'
// Wav2Vec2CTCTokenizer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/namespaces.h"

namespace regard::tasks {

struct CtcLabels {
  std::vector<std::string> tokens;  // token of each label; empty if vocab.json has none
  std::string unknown;              // token of unknown characters
  std::set<std::string> specials;   // the tokens of the blank, of begin, end and unknown
  std::int32_t space = -1;          // label between words; -1 if vocab.json has none
  bool lower = false;               // texts are in lower case
};

// Read the labels of a folder. vocab.json has one vocabulary, or one for each language if `language` is not
// empty or tokenizer_config.json has a "target_lang", the default of `language`. Throws io if a file cannot
// be read, and bad_file with file and key for invalid content, such as an id that is not below `labels`.
CtcLabels read_ctc_labels(const std::filesystem::path& folder, std::int64_t labels,
                          const std::string& language = {});

}  // namespace regard::tasks
