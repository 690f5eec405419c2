// Images, each with a label or a caption. Training and evaluation read them from folders of images, IDX
// files, tables of paths, and tables of pixels.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/data_files.h"
#include "data/image.h"

namespace regard::data {

struct PictureRow {
  std::filesystem::path file;  // path of the image; empty if `image` contains it
  Image image;
  std::string text;        // label or caption of the image
  std::string key;         // key for finding duplicates: the image's path as listed, or a hash of its pixels
  Place place;             // location of the row in the data
  std::size_t source = 0;  // index of the folder, table or pair of IDX files that contains the row
  // number that the caller may assign, for example to identify the row after other rows are removed
  std::size_t id = 0;

  // Return the image. Throws the errors of read_images(), and bad_file if the file contains several images.
  Image read() const;
  // Return the name of the image in messages and reports: the path, or "image N of FILE".
  std::string name() const;
};

struct PictureRows {
  std::vector<PictureRow> rows;
  RowReport report;
};

// Read the rows of table.files, in the order of the files:
//   folders: every image in FOLDER/LABEL/…, as list_image_folder() does;
//   files that are not tables: pairs of IDX files, the images and their labels;
//   tables with highest = 0: the path of an image (relative to the table's folder), and its text;
//   tables with highest > 0: grey pixels up to `highest` and a label (PixelTable). The label's column is the
//   one in table.columns. Default: the last column.
// Image files in folders and in tables of paths are listed, but not read. Throws io and bad_file with file
// and row, and usage if the list mixes these kinds.
PictureRows read_picture_rows(const TableOptions& table, std::int64_t highest = 0);

// Read the rows of the files that a command names. Default columns of a table: the first two; jsonl: image,
// text.
PictureRows read_picture_rows(const DataFiles& data);

}  // namespace regard::data
