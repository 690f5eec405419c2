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

#include "formats/tensor_file.h"
#include "regard/tensor.h"

namespace regard::formats {

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

}  // namespace regard::formats
