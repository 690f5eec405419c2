// PNG without compression, for pictures inside of other documents. Needs no library.
#pragma once

#include <string>

#include "data/image.h"

namespace regard::data {

std::string encode_png(const Image& image);

}  // namespace regard::data
