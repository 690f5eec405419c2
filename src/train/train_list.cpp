#include "train/train_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/counted.h"
#include "base/line_reader.h"

namespace regard::train {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> divided(const std::string& line) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find('\t', begin), line.size());
    parts.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string count_of(std::size_t paths) {
  return counted(paths, "path");
}

// Checks the lines of a list and appends their paths to a configuration.
class ListReader {
 public:
  ListReader(RunConfig& config, std::string file)
      : config_(config), file_(std::move(file)), folder_(fs::path(file_).parent_path()) {}

  void add(const std::string& line, std::int64_t number) {
    const Place place{file_, number};
    const std::vector<std::string> paths = divided(line);
    if (first_ == 0) {
      first_ = number;
      width_ = paths.size();
    }
    if (paths.size() != width_)
      throw Error(ErrorKind::bad_file, "the lines of the list have different numbers of paths", place)
          .found(count_of(paths.size()))
          .expected(fmt::format("{}, as in line {}", count_of(width_), first_))
          .remedy("Separate the paths of line-aligned files with one tab");
    for (const std::string& path : paths) add_path(path, place);
  }

  void finish() const {
    if (first_ > 0) return;
    throw Error(ErrorKind::bad_file, "the list of training files is empty", {file_})
        .expected("the path of a file on each line");
  }

 private:
  void add_path(const std::string& path, const Place& place) {
    if (path.empty())
      throw Error(ErrorKind::bad_file, "a line of the list contains an empty path", place)
          .remedy("Write one tab between two paths and none at the ends of the line");
    std::string whole = (folder_ / path).lexically_normal().string();
    const auto [entry, added] = lines_.emplace(whole, place.line);
    if (!added)
      throw Error(ErrorKind::bad_file, fmt::format("the list contains the file '{}' twice", path), place)
          .found(fmt::format("an earlier occurrence in line {}", entry->second))
          .remedy("Remove one of the lines");
    config_.data.train.push_back(std::move(whole));
    config_.train_places.push_back(place);
  }

  RunConfig& config_;
  std::string file_;
  fs::path folder_;
  std::size_t width_ = 0;
  std::int64_t first_ = 0;  // line number of the first line with paths
  std::map<std::string, std::int64_t> lines_;
};

}  // namespace

void read_train_list(RunConfig& config) {
  const std::string list = config.data.train_list;
  if (list.empty()) return;
  if (!config.data.train.empty())
    throw usage_error("'data.train' and 'data.train_list' cannot be combined")
        .remedy(
            "Remove data.train and put its paths into the file of data.train_list, or remove "
            "data.train_list");
  ListReader reader(config, list);
  std::error_code ignored;
  if (!fs::exists(list, ignored))
    throw io_error(list, "the file of 'data.train_list' does not exist", ENOENT);
  LineReader lines(list);
  for (std::string line; lines.next(line);)
    if (line.find_first_not_of(" \t") != std::string::npos && line.front() != '#')
      reader.add(line, lines.line_number());
  reader.finish();
  config.data.train_list.clear();
}

}  // namespace regard::train
