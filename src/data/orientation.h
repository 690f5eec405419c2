// Reads the EXIF orientation of a photograph, and rotates and mirrors images accordingly.
#pragma once

#include <string_view>

#include "data/image.h"

namespace regard::data {

// Return the tag Orientation (0x0112) of EXIF data, 1 to 8. EXIF data is a TIFF structure, with or without a
// preceding "Exif\0\0". Returns 1 (unmodified) if there is no such tag or the data is damaged.
int orientation_of(std::string_view exif);

// Rotate and mirror the image according to the orientation, like Pillow's ImageOps.exif_transpose().
Image oriented(Image image, int orientation);

}  // namespace regard::data
