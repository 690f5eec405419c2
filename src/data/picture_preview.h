// Draws an image as lines of text, for previews of training data.
#pragma once

#include <string>

#include "regard/tensor.h"

namespace regard::data {

// Draw pixels [1, channels, height, width] as characters from dark to bright, by the mean of the channels. A
// line has at most `columns` characters, each for a block of pixels that is about twice as high as wide.
std::string picture_preview(const Tensor& pixels, std::int64_t columns = 56);

}  // namespace regard::data
