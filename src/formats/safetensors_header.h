// The header of a safetensors file: eight bytes of length (little endian), then a JSON object with the dtype,
// shape and byte range of each tensor.
// Format: https://github.com/huggingface/safetensors#format
//
// The checks are stricter than in the reference implementation: duplicate names, unknown fields of an entry,
// and entries or metadata of another JSON type are refused.
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
  std::vector<TensorEntry> entries;  // entries in file order; names are distinct
};

// Maximum header length of the reference implementation, in bytes.
constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

// Parse and check the header. The byte ranges of the entries must match shape and dtype, and must fill the
// rest of `file` without gaps or overlaps. Throws bad_file naming `name` and the tensor.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file, const std::string& name);

}  // namespace regard::formats
