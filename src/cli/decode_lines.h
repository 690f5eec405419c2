// What `translate` and `generate` share: their options, and decoding lines as they come.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "infer/loaded_model.h"

namespace regard::cli {

// Options that were not given keep what the model's folder says.
struct DecodingOptions {
  std::string model, input = "-";
  std::optional<std::int64_t> beam, n_best, max_new, top_k;
  std::optional<double> length_penalty, temperature, top_p, min_p;
  std::optional<std::string> early_stopping;
  bool sample = false;

  infer::SearchOptions over(infer::SearchOptions folder, std::uint64_t seed) const;  // throws usage
};

void add_decoding_options(CLI::App& verb, DecodingOptions& options);
void add_search_options(CLI::App& verb, DecodingOptions& options);  // those of the search alone

// Opens the model, says on stderr if another checkpoint than the best is used, prepares it. Throws usage if
// it is not of this kind; `verb` is what was asked of it.
infer::LoadedModel open_for(ModelKind kind, const char* verb, const std::string& path, Globals& globals);

// Decodes the lines of options.input: those that have already come together, a line alone at once. Results to
// stdout in the order of the lines. A line that cannot be decoded ends the work with an error that names it,
// after the results of the lines before it.
void decode_lines(const infer::LoadedModel& model, const infer::SearchOptions& search,
                  const std::string& input, Globals& globals);

}  // namespace regard::cli
