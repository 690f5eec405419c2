// Write word vectors. The file appears under its name only when it is complete.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "vectors/word_vectors.h"

namespace regard::vectors {

// `values` [words, size]. Text formats use the shortest digits that parse to the same f32. Throws usage for a
// word that the format cannot represent (a blank in word2vec's, a line end in any text format) and for
// fastText's binary format; io.
void save_vectors(const std::filesystem::path& path, Format format, std::span<const std::string> words,
                  std::int64_t size, std::span<const float> values);

}  // namespace regard::vectors
