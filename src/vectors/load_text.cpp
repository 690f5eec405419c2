// Reads the text formats of word2vec, fastText (.vec) and GloVe.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>

#include "base/counted.h"
#include "regard/error.h"
#include "vectors/loader.h"

namespace regard::vectors {
namespace {

constexpr std::size_t kRowsInTask = 256;
constexpr std::size_t kNotFound = std::string_view::npos;

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

std::string_view without_end(std::string_view line) {
  while (!line.empty() && (is_blank(line.back()) || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

// Return the number of fields of a line without trailing white space.
std::size_t count_fields(std::string_view line) {
  std::size_t fields = line.empty() ? 0 : 1;
  for (std::size_t i = 1; i < line.size(); ++i) fields += is_blank(line[i]) && !is_blank(line[i - 1]);
  return fields;
}

// Remove the last field of the line and the single blank before it, and return the field. Only one blank is
// removed, because a word may be empty or end in blanks. `alone` is set to true if there is no blank before
// the field.
std::string_view take_field(std::string_view& line, bool& alone) {
  std::size_t begin = line.size();
  while (begin > 0 && !is_blank(line[begin - 1])) --begin;
  const std::string_view field = line.substr(begin);
  alone = begin == 0;
  line.remove_suffix(line.size() - (alone ? 0 : begin - 1));
  return field;
}

// Parse a finite number into `value`. Returns false if the field is not a finite number.
bool parse_float(std::string_view field, float& value) {
  if (field.size() > 1 && field.front() == '+' && field[1] != '-') field.remove_prefix(1);
  const char* last = field.data() + field.size();
  const auto [end, error] = std::from_chars(field.data(), last, value);
  if (end != last || field.empty()) return false;
  if (error == std::errc::result_out_of_range) {  // the number is too large (an error) or too small (zero)
    double wide = 0.0;
    const auto again = std::from_chars(field.data(), last, wide);
    const bool tiny = again.ec == std::errc()
                          ? std::abs(wide) < 1.0
                          : field.find("e-") != kNotFound || field.find("E-") != kNotFound;
    value = again.ec == std::errc() ? static_cast<float>(wide) : 0.0f;
    return tiny;
  }
  return error == std::errc() && std::isfinite(value);
}

struct RowError {
  std::string what, found, expected;
};

std::string numbers_text(std::size_t size) {
  return counted(size, "number");
}

// Return a description of a line with `size` numbers, for error messages.
std::string row_text(std::size_t size) {
  return "a word and " + numbers_text(size);
}

// Read `size` numbers from the end of the line into `row`. The rest of the line becomes `word`.
std::optional<RowError> parse_row(std::string_view line, std::size_t size, float* row,
                                  std::string_view& word) {
  word = line;
  bool alone = false;
  for (std::size_t left = size; left > 0; --left) {
    if (word.empty() || alone)
      return RowError{"the line has too few fields", std::to_string(count_fields(line)) + " fields",
                      row_text(size)};
    const std::string_view field = take_field(word, alone);
    if (!parse_float(field, row[left - 1]))
      return RowError{"not a finite number", "'" + std::string(field.substr(0, 40)) + "'", row_text(size)};
    if (left > 1)
      while (!word.empty() && is_blank(word.back())) word.remove_suffix(1);
  }
  if (alone) return RowError{"the line has no word", numbers_text(size) + " only", row_text(size)};
  return std::nullopt;
}

// Return true if `word` contains another vector. This is the case if the line end between two lines is
// missing.
bool holds_vector(std::string_view word, std::size_t size) {
  std::size_t numbers = 0;
  bool alone = false;
  float value;
  while (!word.empty() && !alone) numbers += parse_float(take_field(word, alone), value);
  return numbers >= size;
}

std::vector<std::string_view> lines_of(std::string_view bytes) {
  std::vector<std::string_view> lines;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    lines.push_back(without_end(bytes.substr(0, end)));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

// Return the most frequent vector size among `lines`. Words that contain blanks add fields, but are rare.
std::size_t commonest_size(std::span<const std::string_view> lines) {
  std::map<std::size_t, std::size_t> seen;
  for (const std::string_view line : lines.first(std::min<std::size_t>(lines.size(), 1000)))
    ++seen[count_fields(line)];
  std::size_t fields = 0, most = 0;
  for (const auto& [count, times] : seen) {
    if (times <= most) continue;
    most = times;
    fields = count;
  }
  return fields == 0 ? 0 : fields - 1;
}

}  // namespace

bool holds_row(std::string_view line, std::size_t size) {
  std::vector<float> row(size);
  std::string_view word;
  return !parse_row(without_end(line), size, row.data(), word);
}

void Loader::read_text() {
  const std::vector<std::string_view> lines = lines_of(bytes_.substr(header_.end));
  const std::size_t first_line = header_.end > 0 ? 2 : 1;
  const auto size = header_.end > 0 ? static_cast<std::size_t>(header_.size) : commonest_size(lines);
  if (size == 0) damaged_line(first_line, "the line has too few fields", "", "a word and its numbers");
  if (header_.end > 0 && lines.size() != header_.count)
    damaged_line(first_line + std::min<std::size_t>(lines.size(), header_.count),
                 "the number of words differs from the first line", std::to_string(lines.size()) + " lines",
                 std::to_string(header_.count));
  check_count(lines.size());
  // A number needs at least two bytes, so the length of the file limits the memory that is allocated.
  if (lines.size() > bytes_.size() / (2 * size))
    damaged_line(first_line, "the lines are too short for vectors of this size", "", std::to_string(size));
  vectors_.size_ = static_cast<std::int64_t>(size);
  vectors_.values_.resize(lines.size() * size);
  std::vector<std::string_view> words(lines.size());
  const std::size_t tasks = (lines.size() + kRowsInTask - 1) / kRowsInTask;
  std::vector<std::optional<std::pair<std::size_t, RowError>>> errors(tasks);
  pool_.parallel_for(static_cast<std::int64_t>(tasks), [&](std::int64_t task, int) {
    const std::size_t begin = static_cast<std::size_t>(task) * kRowsInTask;
    for (std::size_t i = begin; i < std::min(begin + kRowsInTask, lines.size()); ++i) {
      auto error = parse_row(lines[i], size, vectors_.values_.data() + i * size, words[i]);
      if (!error && words[i].find_first_of(" \t") != kNotFound && holds_vector(words[i], size))
        error = RowError{"the line has too many numbers", std::to_string(count_fields(lines[i])) + " fields",
                         row_text(size)};
      if (!error) continue;
      errors[static_cast<std::size_t>(task)] = {i, std::move(*error)};
      return;
    }
  });
  for (const auto& error : errors)
    if (error)
      damaged_line(first_line + error->first, error->second.what, error->second.found,
                   error->second.expected);
  vectors_.words_.reserve(lines.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!add_word(words[i])) continue;
    if (kept != i)
      std::memcpy(vectors_.values_.data() + kept * size, vectors_.values_.data() + i * size,
                  size * sizeof(float));
    ++kept;
  }
  vectors_.values_.resize(kept * size);
}

}  // namespace regard::vectors
