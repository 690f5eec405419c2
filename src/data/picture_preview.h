// A picture as lines of text, for previews of training data.
#pragma once

#include <string>

#include "regard/tensor.h"

namespace regard::data {

// pixels [1, channels, height, width]: the mean of the channels as characters from dark to bright, at most
// `columns` characters a line, with two pixels of height for each character.
std::string picture_preview(const Tensor& pixels, std::int64_t columns = 56);

}  // namespace regard::data
