// What `translate` and `generate` share: their options, and decoding lines as they come.
#pragma once

#include <string>

#include "cli/decoding_options.h"
#include "cli/look.h"
#include "infer/loaded_model.h"

namespace regard::cli {

struct DecodingOptions {
  LookOptions look;
  std::string model, input = "-", output;  // output: a file; empty: standard output
  SearchFlags search;
  TextFlags text;
  bool log_probabilities = false;  // of each token, in JSON
  bool truncate = false;           // what is longer than the model has positions is cut
  bool sentences = false;          // each sentence of a line alone
  bool skip_bad = false;           // lines that cannot be read get an empty result
  bool single_as_is = false;       // the result of an only line keeps its line ends
  std::string before;              // what is put before each source
};

void add_decoding_options(CLI::App& verb, DecodingOptions& options);

// Opens the model under the options, says on stderr if another checkpoint than the best is used, prepares it.
// Throws usage if it does not write text, or options contradict each other.
infer::LoadedModel open_for(const DecodingOptions& options, const std::string& task, Globals& globals);

// The folder's search with the options over it. Throws usage.
infer::SearchOptions search_of(const DecodingOptions& options, const infer::LoadedModel& model,
                               const Globals& globals);

// Ids of a text as the model takes them in: cut to its positions if options.truncate, else throws bad_file at
// `place` where they are too many. Of a decoder's prompt the end stays, of a source the beginning and the
// tokens that end it.
std::vector<std::int32_t> within_positions(std::vector<std::int32_t> ids, const infer::LoadedModel& model,
                                           bool truncate, const Place& place);

// Decodes the lines of options.input: those that have already come together, a line alone at once. Results to
// options.output in the order of the lines, a line each: line ends in a text are written \n and \r, unless
// options.single_as_is and there is one line only, or it was typed. A line that cannot be decoded ends the
// work with an error that names it, after the results of the lines before it, or is skipped
// (options.skip_bad).
void decode_lines(const infer::LoadedModel& model, const infer::SearchOptions& search,
                  const DecodingOptions& options, Globals& globals);

}  // namespace regard::cli
