// The parts of `regard vectors` that have files of their own.
#pragma once

#include "base/json.h"
#include "cli/verb.h"
#include "vectors/word_vectors.h"

namespace regard::cli {

// Where word vectors are and in what form.
struct VectorsFile {
  std::string path, format = "auto";

  vectors::WordVectors load(Globals& globals) const;
};
void add_vectors_file(CLI::App& verb, VectorsFile& file);

// One line; bytes that are not UTF-8 become U+FFFD.
void print_json(const Json& json);

void add_vectors_attend(CLI::App& verb, Globals& globals);
void add_vectors_train(CLI::App& verb, Globals& globals);

}  // namespace regard::cli
