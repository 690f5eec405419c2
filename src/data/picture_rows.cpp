#include "data/picture_rows.h"

#include <fmt/format.h>

#include <utility>

#include "base/counted.h"
#include "base/hash.h"
#include "base/parse_number.h"
#include "base/plain_text.h"
#include "data/labelled_images.h"

namespace regard::data {
namespace {

namespace fs = std::filesystem;

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

void add_folder(const std::string& folder, PictureRows& to) {
  ImageFolder found = list_image_folder(folder);
  for (ImageFile& image : found.files) {
    const std::string key = image.path.lexically_relative(folder).string();
    const Place place{image.path.string(), -1, -1};
    to.rows.push_back({std::move(image.path), {}, std::move(image.label), key, place});
  }
  to.report.add(found.report);
}

// Add images that are in memory. `file` is the file that they were read from.
void add_images(LabelledImages found, const std::string& file, PictureRows& to) {
  for (std::size_t i = 0; i < found.images.size(); ++i) {
    const std::string key = hex(xxh3(std::as_bytes(std::span(found.images[i].pixels))));
    to.rows.push_back({{},
                       std::move(found.images[i]),
                       std::move(found.labels[i]),
                       key,
                       {file, static_cast<std::int64_t>(i) + 1, -1}});
  }
  to.report.add(found.report);
}

void add_paths(const TableOptions& options, PictureRows& to) {
  TableReader table(options);
  for (TableRow row; table.next(row);) {
    if (row.size() != 2)
      throw row.error(0, "the row does not have two columns, the path of an image and its text");
    table.read_or_skip(row, [&] {
      const std::string& path = row.text(0);
      if (is_blank(path)) throw row.error(0, "the path of the image is empty");
      if (is_blank(row.text(1))) throw row.error(1, "the text of the image is empty");
      const fs::path file = (row.file() == "-" ? fs::path(".") : fs::path(row.file()).parent_path()) / path;
      std::error_code ignored;
      if (!fs::is_regular_file(file, ignored))
        throw row.error(0, "the image file does not exist")
            .found("\"" + path + "\"")
            .remedy("Paths are relative to the folder of the table");
      to.rows.push_back({file, {}, row.text(1), path, row.place()});
    });
  }
  to.report.add(table.report());
}

void add_pixels(const TableOptions& options, const std::string& file, std::int64_t highest, PictureRows& to) {
  PixelTable table{.file = file,
                   .highest = highest,
                   .delimiter = options.delimiter,
                   .bad_utf8 = options.bad_utf8,
                   .malformed = options.malformed};
  table.header = options.header == Header::present;
  if (!options.columns.empty()) {
    const std::string& column = options.columns[0];
    table.label_column = is_column_number(column) ? parse_number<std::int32_t>(column).value_or(0) : 0;
    if (options.columns.size() != 1 || table.label_column == 0)
      throw usage_error("'columns' of a table of pixels must be the number of the label column")
          .expected("one number, such as columns = [65]")
          .found(fmt::format("{}", fmt::join(options.columns, ", ")))
          .remedy("Omit 'columns' if the label is in the last column");
  }
  add_images(read_pixel_table(table), file, to);
}

Error unpaired(std::size_t files) {
  return usage_error("each file of images requires a file of labels")
      .found(counted(files, "file"))
      .expected(
          "a folder, pairs of IDX files (images, labels), or a .tsv, .csv or .jsonl table of paths and "
          "labels");
}

}  // namespace

Image PictureRow::read() const {
  return file.empty() ? image : read_one_image(file);
}

std::string PictureRow::name() const {
  return file.empty() ? fmt::format("image {} of {}", place.line, fs::path(place.file).filename().string())
                      : key;
}

PictureRows read_picture_rows(const TableOptions& table, std::int64_t highest) {
  PictureRows rows;
  const std::vector<std::string>& files = table.files;
  const bool folders = is_folder(files.at(0)), idx = !folders && !has_columns(table.format);
  for (const std::string& file : files)
    if (is_folder(file) != folders)
      throw usage_error("folders of images and files of images cannot be mixed")
          .found(file)
          .expected("only folders, or only files");
  if (idx && files.size() % 2 != 0) throw unpaired(files.size());
  const std::size_t together = idx ? 2 : 1;
  for (std::size_t i = 0; i < files.size(); i += together) {
    const std::size_t before = rows.rows.size();
    if (folders) {
      add_folder(files[i], rows);
    } else if (idx) {
      add_images(read_idx_images(files[i], files[i + 1]), files[i], rows);
    } else if (highest > 0) {
      add_pixels(table, files[i], highest, rows);
    } else {
      TableOptions one = table;
      one.files = {files[i]};
      add_paths(one, rows);
    }
    for (std::size_t row = before; row < rows.rows.size(); ++row) rows.rows[row].source = i / together;
  }
  return rows;
}

PictureRows read_picture_rows(const DataFiles& data) {
  TableOptions table = table_options(data);
  if (table.columns.empty() && data.highest == 0)
    table.columns = table.format == TableFormat::jsonl ? std::vector<std::string>{"image", "text"}
                                                       : std::vector<std::string>{"1", "2"};
  return read_picture_rows(table, data.highest);
}

}  // namespace regard::data
