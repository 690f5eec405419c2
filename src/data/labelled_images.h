// Images with labels: pairs of IDX files (MNIST), folders of images, and tables of pixels.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/image.h"
#include "data/row_report.h"

namespace regard::data {

struct LabelledImages {
  std::vector<Image> images;
  std::vector<std::string> labels;  // labels of the images, one per image
  RowReport report;
};

// Read IDX files of images [count, rows, columns] and of their labels [count]; compressed files are
// decompressed. Labels are decimal numbers. Throws io, and bad_file if a file is damaged or the numbers of
// images and labels differ.
LabelledImages read_idx_images(const std::filesystem::path& images, const std::filesystem::path& labels);

// An image file FOLDER/LABEL/…/FILE and its label.
struct ImageFile {
  std::filesystem::path path;
  std::string label;
};
struct ImageFolder {
  std::vector<ImageFile> files;     // image files, sorted by label and then by name
  std::vector<std::string> labels;  // names of the subfolders with an image, sorted
  RowReport report;                 // counts the image files, and lists the other visible files as skipped
};
// List the image files FOLDER/LABEL/…/FILE at any depth. Images are recognised by their first bytes. Links to
// folders are followed. Hidden files and folders, and links to a folder that contains the link, are ignored.
// Throws io if `folder` is not a folder, and bad_file if it has no labelled images or a label that is not
// UTF-8.
ImageFolder list_image_folder(const std::filesystem::path& folder);

// A table of grey pixels, with one image per row: numbers separated by commas (or tabs, for .tsv). The data
// set optdigits has this format.
struct PixelTable {
  std::string file;
  std::int64_t height = 0, width = 0;  // size of the images in pixels; 0 means that the images are square
  std::int64_t label_column = 0;       // number of the column with the label, from 1; 0 means the last column
  std::int64_t highest = 255;          // maximum pixel value in the file; pixels are scaled to 0 to 255
  char delimiter = '\0';               // see TableOptions::delimiter
  bool header = false;
  Faulty bad_utf8 = Faulty::refuse;
  Faulty malformed = Faulty::refuse;
};
LabelledImages read_pixel_table(const PixelTable& table);

}  // namespace regard::data
