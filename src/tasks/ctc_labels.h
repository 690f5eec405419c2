// Reads the labels of a CTC model from vocab.json and tokenizer_config.json, as Wav2Vec2CTCTokenizer of
// transformers does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/namespaces.h"

namespace regard::tasks {

struct CtcLabels {
  std::vector<std::string> tokens;  // token of each label; "" for a label that vocab.json does not contain
  std::string unknown;              // token of unknown characters
  std::set<std::string> specials;   // special tokens: blank, begin, end and unknown
  std::int32_t space = -1;          // label between words; -1 if vocab.json has none
  bool lower = false;               // convert tokens to lower case (do_lower_case)
};

// Read the labels of a folder. `language` selects one of several vocabularies in vocab.json. Default:
// "target_lang" in tokenizer_config.json; without it, vocab.json is a single vocabulary. Throws io if a file
// cannot be read, and bad_file with file and key for invalid content, such as an id that is not below
// `labels`.
CtcLabels read_ctc_labels(const std::filesystem::path& folder, std::int64_t labels,
                          const std::string& language = {});

}  // namespace regard::tasks
