// Writes word vectors to a file, atomically.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "vectors/word_vectors.h"

namespace regard::vectors {

// Write `values` [words, size]; in text formats, with the fewest digits that convert back to the same f32.
// Throws io if the file cannot be written, and usage for fastText's binary format and for a word that is
// empty, contains a line end or, in word2vec's formats, contains a space or a tab.
void save_vectors(const std::filesystem::path& path, Format format, std::span<const std::string> words,
                  std::int64_t size, std::span<const float> values);

}  // namespace regard::vectors
