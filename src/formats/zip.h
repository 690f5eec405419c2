// The directory of a ZIP archive whose members are stored, not compressed, as PyTorch writes them. Format:
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT (4.3, with zip64). Nothing is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace regard::formats {

struct ZipMember {
  std::uint64_t begin = 0, size = 0;  // of its bytes in the file
};

bool looks_like_zip(std::span<const std::byte> file) noexcept;

// Members by name. Every place is checked against the file. Throws bad_file: compressed or encrypted members,
// names given twice, several disks, anything cut off.
std::map<std::string, ZipMember> read_zip(std::span<const std::byte> file, const std::string& name);

}  // namespace regard::formats
