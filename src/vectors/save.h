// Writing word vectors. The file appears under its name when it is complete.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "vectors/word_vectors.h"

namespace regard::vectors {

// `values` [words, size]. Text forms have the shortest digits that give the same f32. Throws usage for a word
// that the form cannot hold (a blank in word2vec's, a line end in any text form) and for fastText's binary
// form; io.
void save_vectors(const std::filesystem::path& path, Format format, std::span<const std::string> words,
                  std::int64_t size, std::span<const float> values);

}  // namespace regard::vectors
