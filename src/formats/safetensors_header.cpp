#include "formats/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "base/byte_order.h"
#include "base/counted.h"
#include "base/json.h"

namespace regard::formats {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr const char* kMetadata = "__metadata__";

// Checks one entry of the header against the size of the tensor data in the file.
class EntryReader {
 public:
  EntryReader(const std::string& file, std::uint64_t data_begin, std::uint64_t data_size)
      : file_(file), data_begin_(data_begin), data_size_(data_size) {}

  TensorEntry read(const std::string& name, const Json& value) const {
    const std::string label = "tensor \"" + name + "\": ";
    if (!value.is_object()) throw fault(label + "its entry is not an object").found(describe(value));
    for (const auto& [key, ignored] : value.items())
      if (key != "dtype" && key != "shape" && key != "data_offsets")
        throw fault(label + "unknown field \"" + key + "\"").expected("dtype, shape and data_offsets");
    TensorEntry entry;
    entry.name = name;
    entry.dtype = require<std::string>(value, "dtype", file_ + ": tensor \"" + name + "\"");
    const unsigned bits = bits_of(entry.dtype);
    if (bits == 0) throw fault(label + "unknown dtype").found("\"" + entry.dtype + "\"");
    for (const std::uint64_t size : numbers(value, "shape", label)) {
      if (!std::in_range<std::int64_t>(size)) throw fault(label + "the shape is too large");
      entry.shape.push_back(static_cast<std::int64_t>(size));
    }
    const std::vector<std::uint64_t> offsets = numbers(value, "data_offsets", label);
    if (offsets.size() != 2) throw fault(label + "data_offsets are not two numbers");
    place(entry, offsets[0], offsets[1], bits, label);
    return entry;
  }

  Error fault(std::string message) const { return file_error(file_, std::move(message)); }

 private:
  std::vector<std::uint64_t> numbers(const Json& entry, const char* key, const std::string& label) const {
    const auto found = entry.find(key);
    if (found == entry.end()) throw fault(label + key + " is missing");
    if (!found->is_array()) throw fault(label + key + " is not an array").found(describe(*found));
    std::vector<std::uint64_t> values;
    for (const Json& value : *found) {
      if (!value.is_number_unsigned())
        throw fault(label + key + " has a wrong value")
            .found(describe(value))
            .expected("an integer from 0 to 2^64 - 1");
      values.push_back(value.get<std::uint64_t>());
    }
    return values;
  }

  void place(TensorEntry& entry, std::uint64_t begin, std::uint64_t end, unsigned bits,
             const std::string& label) const {
    if (begin > end) throw fault(label + "data_offsets are decreasing");
    if (end > data_size_)
      throw fault(label + "its data extend beyond the end of the file")
          .found("offset " + std::to_string(end))
          .expected("at most " + std::to_string(data_size_));
    // number of bits of the tensor; an overflow is an error even if a later dimension is 0
    std::uint64_t total = bits;
    std::uint64_t elements = 1;
    for (const std::int64_t size : entry.shape)
      if (__builtin_mul_overflow(elements, static_cast<std::uint64_t>(size), &elements))
        throw fault(label + "the shape is too large");
    if (__builtin_mul_overflow(total, elements, &total)) throw fault(label + "the shape is too large");
    if (total % 8 != 0) throw fault(label + "the elements do not fill whole bytes");
    if (total / 8 != end - begin)
      throw fault(label + "the length of the data differs from shape and dtype")
          .found(counted(end - begin, "byte"))
          .expected(std::to_string(total / 8));
    entry.begin = data_begin_ + begin;
    entry.size = end - begin;
  }

  const std::string& file_;
  std::uint64_t data_begin_, data_size_;
};

std::map<std::string, std::string> read_metadata(const Json& value, const std::string& file) {
  if (!value.is_object())
    throw file_error(file, "__metadata__ is not an object")
        .expected("an object whose values are strings")
        .found(describe(value));
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string())
      throw file_error(file, "the value of \"" + key + "\" in __metadata__ is not a string")
          .found(describe(text));
    metadata.emplace(key, text.get<std::string>());
  }
  return metadata;
}

// Sort the entries by file offset. Throw if there is a gap, an overlap or a byte after the last tensor.
void check_places(SafetensorsHeader& header, std::uint64_t data_begin, std::uint64_t file_size,
                  const std::string& file) {
  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const TensorEntry& a, const TensorEntry& b) {
                     return std::pair(a.begin, a.size) < std::pair(b.begin, b.size);
                   });
  std::uint64_t end = data_begin;
  for (const TensorEntry& entry : header.entries) {
    if (entry.begin != end)
      throw Error(ErrorKind::bad_file,
                  "tensor \"" + entry.name + "\": its data " +
                      (entry.begin < end ? "overlap the data of another tensor"
                                         : "begin after a gap of unused bytes"),
                  {file, -1, static_cast<std::int64_t>(entry.begin)})
          .found("byte " + std::to_string(entry.begin))
          .expected("byte " + std::to_string(end));
    end = entry.begin + entry.size;
  }
  if (end != file_size)
    throw Error(ErrorKind::bad_file, "the file continues after the last tensor",
                {file, -1, static_cast<std::int64_t>(end)})
        .found(counted(file_size, "byte"))
        .expected(counted(end, "byte"));
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file, const std::string& name) {
  if (file.size() < kLengthBytes)
    throw file_error(name, "not a safetensors file: it is too short")
        .found(counted(file.size(), "byte"))
        .expected("at least " + std::to_string(kLengthBytes) + " bytes");
  const std::uint64_t length = little_endian(reinterpret_cast<const char*>(file.data()), kLengthBytes);
  if (length > kMaxSafetensorsHeader)
    throw file_error(name, "not a safetensors file: the header is too long")
        .found(counted(length, "byte"))
        .expected("at most " + std::to_string(kMaxSafetensorsHeader) + " bytes");
  if (length > file.size() - kLengthBytes)
    throw file_error(name, "the file is truncated within its header")
        .found(counted(file.size(), "byte"))
        .expected("at least " + std::to_string(kLengthBytes + length) + " bytes");
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
  JsonLimits limits;
  limits.first_byte = kLengthBytes;
  const Json json = parse_json(text, name, limits);
  if (!json.is_object()) throw file_error(name, "the header is not a JSON object").found(describe(json));

  SafetensorsHeader header;
  const std::uint64_t data_begin = kLengthBytes + length;
  const EntryReader reader(name, data_begin, file.size() - data_begin);
  for (const auto& [key, value] : json.items()) {
    if (key == kMetadata) {
      header.metadata = read_metadata(value, name);
    } else {
      header.entries.push_back(reader.read(key, value));
    }
  }
  check_places(header, data_begin, file.size(), name);
  return header;
}

}  // namespace regard::formats
