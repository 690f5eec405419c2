// Writes word vectors. The file gets its name only when it is complete.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "vectors/word_vectors.h"

namespace regard::vectors {

// `values` is [words, size]. Text formats contain the fewest digits that convert back to the same f32. Throws
// usage for fastText's binary format and for a word that the format cannot represent (with a blank in
// word2vec's formats, with a line end in text formats); io.
void save_vectors(const std::filesystem::path& path, Format format, std::span<const std::string> words,
                  std::int64_t size, std::span<const float> values);

}  // namespace regard::vectors
