// Pictures with a label or a text each. Training and evaluation read them from folders of images, IDX files,
// tables of paths, and tables of pixels.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/image.h"
#include "data/table.h"

namespace regard::data {

struct PictureRow {
  std::filesystem::path file;  // path of the picture; empty if `image` holds it
  Image image;
  std::string text;    // the label or the text
  std::string key;     // equal for equal pictures: the path as given, or a hash of the pixels
  Place place;         // place of the row
  std::size_t id = 0;  // number for use by the caller, who may leave out rows

  // Return the picture. Throws as read_images(), and bad_file for a file of several pictures.
  Image read() const;
  // Return a name for messages and samples: the path, or "image N of FILE".
  std::string name() const;
};

struct PictureRows {
  std::vector<PictureRow> rows;
  RowReport report;
};

// Read the rows of table.files:
//   folders: every image in FOLDER/LABEL/…, as list_image_folder();
//   files that are no tables: pairs of IDX files, images and labels;
//   tables with highest = 0: two columns, the path of an image, relative to the table's folder, and its text;
//   tables with highest > 0: grey pixels up to `highest` and a label (PixelTable), whose column is the only
//   one of table.columns, or the last.
// Images of the first and third form are not read yet. Throws io and bad_file with file and row; usage if the
// files do not have one form.
PictureRows read_picture_rows(const TableOptions& table, std::int64_t highest = 0);

}  // namespace regard::data
