// Reads the directory of a ZIP archive with uncompressed members, as written by PyTorch. The content of
// members is not copied.
// Format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT (4.3, with zip64)
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace regard::formats {

struct ZipMember {
  std::uint64_t begin = 0, size = 0;  // byte range in the file
};

bool looks_like_zip(std::span<const std::byte> file) noexcept;

// Return the members by name. Every offset is checked against the file size. Throws bad_file for compressed
// or encrypted members, duplicate names, several disks, or a truncated archive.
std::map<std::string, ZipMember> read_zip(std::span<const std::byte> file, const std::string& name);

}  // namespace regard::formats
