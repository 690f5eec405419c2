// Search options of `translate`, `generate` and `run --generate`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "infer/loaded_model.h"

namespace regard::cli {

// Options that are not given keep the values of the model folder.
struct SearchFlags {
  std::optional<std::int64_t> beam, n_best, max_new, min_new, top_k, no_repeat_ngram;
  std::optional<double> length_penalty, repetition_penalty, temperature, top_p, min_p, typical_p;
  std::optional<std::string> early_stopping;
  bool sample = false;
  std::vector<std::string> settings;  // KEY=VALUE

  infer::SearchOptions over(infer::SearchOptions folder, std::uint64_t seed) const;  // throws usage
  // Return `settings` as an object with the keys of generation_config.json. Throws usage.
  Json settings_object() const;
};

// Options given as text, which need the tokenizer.
struct TextFlags {
  std::vector<std::string> stop, bad_words;

  void add_to(infer::SearchOptions& search, const infer::LoadedModel& model) const;  // throws usage
};

void add_search_flags(CLI::App& verb, SearchFlags& flags);
void add_text_flags(CLI::App& verb, TextFlags& flags);

}  // namespace regard::cli
