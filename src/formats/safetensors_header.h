// The header of a safetensors file: eight bytes of length (little endian), then a JSON object that gives each
// tensor its dtype, shape and place. Format: https://github.com/huggingface/safetensors#format
// Stricter than the reference where that is lenient: duplicate names, unknown fields of an entry, and entries
// or metadata of another JSON type are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "regard/tensor.h"

namespace regard::formats {

struct TensorEntry {
  std::string name;
  std::string dtype;                // the file's spelling: "BF16"
  std::vector<std::int64_t> shape;  // any rank
  std::uint64_t begin = 0;          // of its bytes, from the start of the file
  std::uint64_t size = 0;           // bytes

  std::uint64_t elements() const noexcept;
};

struct SafetensorsHeader {
  std::optional<std::map<std::string, std::string>> metadata;
  std::vector<TensorEntry> entries;  // by place in the file; names differ
};

// The longest header that the reference reads.
constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

// Checks everything before it is believed: the entries' bytes must follow one another without hole or overlap
// to the end of `file`, each as long as its shape and dtype say. Throws bad_file naming `name` and the
// tensor.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file, const std::string& name);

// The dtype that we compute with for a file's spelling, or nothing (F4, C64, … are only stored).
std::optional<DType> dtype_of(const std::string& spelling) noexcept;
// The file's spelling of a dtype.
const char* spelling_of(DType dtype) noexcept;
// Bits of one element, 0 for an unknown spelling.
unsigned bits_of(const std::string& spelling) noexcept;

}  // namespace regard::formats
