#include "data/labelled_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/counted.h"
#include "base/file.h"
#include "base/input_stream.h"
#include "base/utf8.h"
#include "data/table.h"

namespace regard::data {
namespace {

constexpr std::uint64_t kMostLabelBytes = std::uint64_t{1} << 30;

std::vector<std::string> read_idx_labels(const std::filesystem::path& path) {
  const std::string bytes = read_decompressed(path, kMostLabelBytes), file = path.string();
  // magic number of IDX labels: unsigned bytes, one dimension
  constexpr std::string_view kMagic("\0\0\x08\x01", 4);
  constexpr std::size_t kHeader = 8;
  if (!bytes.starts_with(kMagic) || bytes.size() < kHeader)
    throw file_error(file, "not an IDX file of labels")
        .expected("a file that begins with the bytes 0, 0, 8, 1 and the number of labels")
        .remedy("Give the file of images first, then the file of labels");
  std::uint64_t count = 0;
  for (std::size_t i = 4; i < kHeader; ++i) count = count * 256 + static_cast<std::uint8_t>(bytes[i]);
  if (bytes.size() - kHeader != count)
    throw file_error(file, "the length of the IDX file does not match its header")
        .found(counted(bytes.size() - kHeader, "label"))
        .expected(counted(count, "label"));
  std::vector<std::string> labels;
  for (std::size_t i = kHeader; i < bytes.size(); ++i)
    labels.push_back(std::to_string(static_cast<std::uint8_t>(bytes[i])));
  return labels;
}

bool is_hidden(const std::filesystem::path& path) {
  return path.filename().string().starts_with('.');
}

// Return true if `path` is a link to one of the folders that contain it. `depth` is the number of folders
// between the listed folder and `path`.
bool links_to_itself(const std::filesystem::path& path, int depth) {
  std::error_code ignored;
  std::filesystem::path above = path.parent_path();
  for (int i = 0; i <= depth; ++i, above = above.parent_path())
    if (std::filesystem::equivalent(above, path, ignored)) return true;
  return false;
}

// Reads the pixels and the label of one row.
class PixelRow {
 public:
  explicit PixelRow(const PixelTable& table) : table_(table) {}

  void add(const TableRow& row, LabelledImages& to) {
    if (row.size() < 2) throw row.error(0, "the row has no pixels");
    const auto pixels = static_cast<std::int64_t>(row.size()) - 1;
    choose_size(row, pixels);
    const std::size_t label =
        table_.label_column == 0 ? row.size() - 1 : static_cast<std::size_t>(table_.label_column) - 1;
    if (label >= row.size())
      throw row.error(0, "the row has no column for the label").found(counted(row.size(), "column"));
    Image image = blank_image(height_, width_, row.file());
    std::size_t at = 0;
    for (std::size_t column = 0; column < row.size(); ++column) {
      if (column == label) continue;
      const std::int64_t value = row.integer(column);
      if (value < 0 || value > table_.highest)
        throw row.error(column, "the pixel is out of range")
            .found(std::to_string(value))
            .expected(fmt::format("0 to {}", table_.highest));
      const auto grey = static_cast<std::uint8_t>((value * 255 + table_.highest / 2) / table_.highest);
      std::fill_n(image.pixels.begin() + static_cast<std::ptrdiff_t>(3 * at++), 3, grey);
    }
    to.labels.push_back(row.text(label));
    to.images.push_back(std::move(image));
  }

 private:
  void choose_size(const TableRow& row, std::int64_t pixels) {
    height_ = table_.height, width_ = table_.width;
    if (height_ == 0 && width_ == 0) height_ = width_ = std::llround(std::sqrt(static_cast<double>(pixels)));
    if (height_ * width_ == pixels) return;
    throw row.error(row.size() - 1, "the number of pixels does not fit the size of the images")
        .found(counted(pixels, "pixel"))
        .expected(fmt::format("{} × {}", width_, height_));
  }

  const PixelTable& table_;
  std::int64_t height_ = 0, width_ = 0;
};

}  // namespace

LabelledImages read_idx_images(const std::filesystem::path& images, const std::filesystem::path& labels) {
  LabelledImages result{read_images(images), read_idx_labels(labels), {}};
  if (result.images.size() != result.labels.size())
    throw file_error(labels.string(), "the number of labels differs from the number of images")
        .found(counted(result.labels.size(), "label"))
        .expected(fmt::format("{}, the number of images in {}", result.images.size(), images.string()));
  result.report.records = static_cast<std::int64_t>(result.images.size());
  return result;
}

ImageFolder list_image_folder(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code failure, ignored;
  ImageFolder result;
  std::set<std::string> labels;
  constexpr auto kLinks = fs::directory_options::follow_directory_symlink;
  for (fs::recursive_directory_iterator entry(folder, kLinks, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const fs::path& path = entry->path();
    if (is_hidden(path) || (entry->is_symlink(ignored) && links_to_itself(path, entry.depth()))) {
      entry.disable_recursion_pending();
      continue;
    }
    if (!entry->is_regular_file(ignored)) continue;
    if (entry.depth() == 0 || !looks_like_image(path)) {
      result.report.skip(
          SkipReason::malformed, {path.string(), -1, -1},
          entry.depth() == 0 ? "not in a folder with the name of a label" : "not an image file");
      continue;
    }
    const std::string label = path.lexically_relative(folder).begin()->string();
    if (!utf8::valid(label))
      throw file_error((folder / label).string(), "the name of a folder of images, its label, is not UTF-8")
          .remedy("Rename the folder");
    labels.insert(label);
    result.files.push_back({path, label});
  }
  if (failure) throw io_error(folder, "cannot list", failure.value());
  if (result.files.empty())
    throw file_error(folder.string(), "there is no labelled image in the folder")
        .expected("one folder for each label, with image files in it (PNG, JPEG, WebP, PPM, PGM)");
  result.labels.assign(labels.begin(), labels.end());
  std::sort(result.files.begin(), result.files.end(), [](const ImageFile& a, const ImageFile& b) {
    return std::tie(a.label, a.path) < std::tie(b.label, b.path);
  });
  result.report.records = static_cast<std::int64_t>(result.files.size());
  return result;
}

LabelledImages read_pixel_table(const PixelTable& table) {
  if (table.highest < 1 || table.highest > 65535 || table.height < 0 || table.width < 0 ||
      table.label_column < 0 || (table.height == 0) != (table.width == 0))
    throw usage_error("invalid description of a table of pixels")
        .found(fmt::format("maximum {}, height {}, width {}, label column {}", table.highest, table.height,
                           table.width, table.label_column))
        .expected("maximum 1 to 65535, height and width both above 0 or both 0, label column at least 0");
  TableReader reader({.files = {table.file},
                      .format = format_of(table.file, TableFormat::csv),
                      .delimiter = table.delimiter,
                      .header = table.header ? Header::present : Header::absent,
                      .bad_utf8 = table.bad_utf8,
                      .malformed = table.malformed,
                      .blank = Faulty::skip});
  LabelledImages result;
  PixelRow pixels(table);
  for (TableRow row; reader.next(row);) reader.read_or_skip(row, [&] { pixels.add(row, result); });
  result.report = reader.report();
  return result;
}

}  // namespace regard::data
