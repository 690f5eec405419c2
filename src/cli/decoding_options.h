// Search options of `translate`, `generate` and `run --generate`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "infer/loaded_model.h"
#include "infer/search_overrides.h"

namespace regard::cli {

struct SearchFlags : infer::SearchOverrides {
  std::vector<std::string> settings;  // values of the option --set: KEY=VALUE

  // Return `settings` as an object with the keys of generation_config.json. Throws usage for a setting
  // without "=", or whose key has no effect.
  Json settings_object() const;
};

// Options with text values, whose conversion requires the tokenizer.
struct TextFlags {
  std::vector<std::string> stop, bad_words;

  // set these options in `search`; throws usage if a value is invalid
  void add_to(infer::SearchOptions& search, const infer::LoadedModel& model) const;
};

// Return the options, so that the caller can call needs() on them.
std::vector<CLI::Option*> add_search_flags(CLI::App& verb, SearchFlags& flags);
void add_text_flags(CLI::App& verb, TextFlags& flags);

}  // namespace regard::cli
