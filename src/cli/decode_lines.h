// Options and line decoding shared by `translate` and `generate`.
#pragma once

#include <string>

#include "cli/decoding_options.h"
#include "cli/probe_options.h"
#include "infer/loaded_model.h"

namespace regard::cli {

struct DecodingOptions {
  ProbeOptions probes;
  // folders of the model and of the adapter; paths of the input and output file, where "-" or empty means
  // standard input or output
  std::string model, adapter, input = "-", output;
  SearchFlags search;
  TextFlags text;
  bool log_probabilities = false;  // print the log-probability of each token, in JSON
  bool truncate = false;           // truncate inputs longer than the model's maximum length
  bool sentences = false;          // decode each sentence of a line separately
  // write an empty result for a line that cannot be read, instead of ending with an error
  bool skip_bad = false;
  // do not escape line ends as \n and \r in a result if the line was typed on a terminal or is the only line
  bool single_as_is = false;
  std::string before;  // text prepended to each source
};

void add_decoding_options(CLI::App& verb, DecodingOptions& options);

// Open the model, print its warning to stderr, if any, and prepare it for inference. Throws usage if the
// model has no decoder or if options contradict each other.
infer::LoadedModel open_for(const DecodingOptions& options, const std::string& task, Globals& globals);

// Return the model folder's search options, overridden by the given ones. Throws usage if an option is
// invalid.
infer::SearchOptions search_of(const DecodingOptions& options, const infer::LoadedModel& model,
                               const Globals& globals);

// Return model.read(text, truncate). Add the location `place` to its errors.
ModelInput read_at(const infer::LoadedModel& model, std::string_view text, bool truncate, const Place& place);

// Decode the lines of options.input as they arrive, and write the results to options.output in input order:
// one line per input line, or per hypothesis with --n-best in plain text. If a line cannot be decoded and
// options.skip_bad is not set, the results of the lines before it are written and its error is thrown.
void decode_lines(const infer::LoadedModel& model, const infer::SearchOptions& search,
                  const DecodingOptions& options, Globals& globals);

}  // namespace regard::cli
