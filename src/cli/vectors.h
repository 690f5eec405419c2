// Declarations shared by the files of `regard vectors`.
#pragma once

#include "base/json.h"
#include "cli/verb.h"
#include "vectors/word_vectors.h"

namespace regard::cli {

// Path and format of a file that holds word vectors.
struct VectorsFile {
  std::string path, format = "auto";

  vectors::WordVectors load(Globals& globals) const;
};
void add_vectors_file(CLI::App& verb, VectorsFile& file);

// Return `word` as valid UTF-8. Ill-formed sequences become U+FFFD.
std::string shown(std::string_view word);

// Print `json` as one line; invalid UTF-8 becomes U+FFFD.
void print_json(const Json& json);

void add_vectors_attend(CLI::App& verb, Globals& globals);
void add_vectors_train(CLI::App& verb, Globals& globals);

}  // namespace regard::cli
