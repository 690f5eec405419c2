// Writes word vectors to a file, atomically.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "vectors/word_vectors.h"

namespace regard::vectors {

// Write `values` [words, size]. Text formats use the fewest digits that convert back to the same f32.
// Throws io if the file cannot be written. Throws usage for fastText's binary format and for a word that is
// empty or contains a line end. In word2vec's formats, throws usage also for a word that contains a space or
// a tab.
void save_vectors(const std::filesystem::path& path, Format format, std::span<const std::string> words,
                  std::int64_t size, std::span<const float> values);

}  // namespace regard::vectors
