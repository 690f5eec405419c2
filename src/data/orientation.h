// Orientation of photographs: the EXIF tag with which a camera records how it was held.
#pragma once

#include <string_view>

#include "data/image.h"

namespace regard::data {

// Return the value of the tag Orientation (0x0112) of EXIF data: the TIFF structure, also after "Exif\0\0".
// 1 to 8; 1, as it is, if there is no such tag or the data is damaged.
int orientation_of(std::string_view exif);

// Turn and mirror the image as the orientation says, like Pillow's ImageOps.exif_transpose().
Image oriented(Image image, int orientation);

}  // namespace regard::data
