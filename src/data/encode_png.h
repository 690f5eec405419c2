// Encodes an image as PNG without compression, to embed it in other documents. Requires no library.
#pragma once

#include <string>

#include "data/image.h"

namespace regard::data {

std::string encode_png(const Image& image);

}  // namespace regard::data
