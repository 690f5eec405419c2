#include "formats/zip.h"

#include <algorithm>

#include "regard/error.h"

namespace regard::formats {
namespace {

constexpr std::uint64_t kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20, kCentralSize = 46, kLocalSize = 30;
constexpr std::uint32_t kEndMark = 0x06054B50, kEnd64Mark = 0x06064B50, kLocatorMark = 0x07064B50,
                        kCentralMark = 0x02014B50, kLocalMark = 0x04034B50;
constexpr std::uint32_t k32 = 0xFFFFFFFF;  // value that means that the actual value is in a zip64 record
constexpr std::uint32_t k16 = 0xFFFF;

// Reads little-endian numbers at any offset of the file; throws bad_file beyond its end.
class Bytes {
 public:
  Bytes(std::span<const std::byte> file, const std::string& name) : file_(file), name_(name) {}

  std::uint64_t size() const { return file_.size(); }
  void need(std::uint64_t at, std::uint64_t count) const {
    if (at > file_.size() || count > file_.size() - at) throw fault("the archive is truncated", at);
  }
  std::uint64_t number(std::uint64_t at, int bytes) const {
    need(at, static_cast<std::uint64_t>(bytes));
    std::uint64_t value = 0;
    for (int i = bytes; i-- > 0;)
      value = value << 8 | std::to_integer<std::uint64_t>(file_[at + static_cast<std::uint64_t>(i)]);
    return value;
  }
  std::uint64_t u16(std::uint64_t at) const { return number(at, 2); }
  std::uint32_t u32(std::uint64_t at) const { return static_cast<std::uint32_t>(number(at, 4)); }
  std::uint64_t u64(std::uint64_t at) const { return number(at, 8); }
  std::string text(std::uint64_t at, std::uint64_t count) const {
    need(at, count);
    return {reinterpret_cast<const char*>(file_.data()) + at, count};
  }
  Error fault(const std::string& message, std::uint64_t at) const {
    return {ErrorKind::bad_file,
            "not a usable ZIP archive: " + message,
            {name_, -1, static_cast<std::int64_t>(at)}};
  }

 private:
  std::span<const std::byte> file_;
  const std::string& name_;
};

// Location and size of the central directory, and the number of its members.
struct Directory {
  std::uint64_t begin = 0, size = 0, members = 0;
};

Directory find_directory(const Bytes& bytes) {
  constexpr std::uint64_t kLongestComment = 0xFFFF;
  if (bytes.size() < kEndSize) throw bytes.fault("too short", 0);
  const std::uint64_t last = bytes.size() - kEndSize;
  const std::uint64_t first = last > kLongestComment ? last - kLongestComment : 0;
  std::uint64_t end = last;
  while (bytes.u32(end) != kEndMark || end + kEndSize + bytes.u16(end + 20) != bytes.size()) {
    if (end == first) throw bytes.fault("its end record is missing", last);
    --end;
  }
  if (bytes.u16(end + 4) != 0 && bytes.u16(end + 4) != k16) throw bytes.fault("it spans several disks", end);
  Directory directory{bytes.u32(end + 16), bytes.u32(end + 12), bytes.u16(end + 10)};
  const bool wide = directory.begin == k32 || directory.size == k32 || directory.members == k16;
  if (wide && end >= kLocatorSize && bytes.u32(end - kLocatorSize) == kLocatorMark) {
    const std::uint64_t record = bytes.u64(end - kLocatorSize + 8);
    bytes.need(record, kEnd64Size);
    if (bytes.u32(record) != kEnd64Mark) throw bytes.fault("its zip64 end record is missing", record);
    directory = {bytes.u64(record + 48), bytes.u64(record + 40), bytes.u64(record + 32)};
  }
  bytes.need(directory.begin, directory.size);
  return directory;
}

// Read a member's zip64 extra field. It contains a 64-bit value for each element of `values` that is
// 0xFFFFFFFF, in the order of `values`.
void read_zip64(const Bytes& bytes, std::uint64_t at, std::uint64_t end, std::uint64_t* const (&values)[3]) {
  while (at + 4 <= end) {
    const std::uint64_t kind = bytes.u16(at), size = bytes.u16(at + 2);
    at += 4;
    if (size > end - at) throw bytes.fault("an extra field is truncated", at);
    if (kind == 1) {
      std::uint64_t place = at;
      for (std::uint64_t* value : values) {
        if (*value != k32) continue;
        if (place + 8 > at + size) throw bytes.fault("a zip64 field is truncated", at);
        *value = bytes.u64(place);
        place += 8;
      }
    }
    at += size;
  }
}

ZipMember read_member(const Bytes& bytes, std::uint64_t at, std::uint64_t extra, std::uint64_t extra_size) {
  constexpr std::uint64_t kEncrypted = 1;
  if ((bytes.u16(at + 8) & kEncrypted) != 0) throw bytes.fault("a member is encrypted", at);
  if (bytes.u16(at + 10) != 0) throw bytes.fault("a member is compressed", at);
  std::uint64_t stored = bytes.u32(at + 20), size = bytes.u32(at + 24), local = bytes.u32(at + 42);
  read_zip64(bytes, extra, extra + extra_size, {&size, &stored, &local});
  if (stored != size)
    throw bytes.fault("the compressed and uncompressed sizes of a stored member differ", at);
  bytes.need(local, kLocalSize);
  if (bytes.u32(local) != kLocalMark)
    throw bytes.fault("a member is not at the position that the directory states", local);
  const std::uint64_t begin = local + kLocalSize + bytes.u16(local + 26) + bytes.u16(local + 28);
  bytes.need(begin, size);
  return {begin, size};
}

}  // namespace

bool looks_like_zip(std::span<const std::byte> file) noexcept {
  constexpr std::byte kMark[] = {std::byte{'P'}, std::byte{'K'}, std::byte{3}, std::byte{4}};
  return file.size() >= 4 && std::equal(std::begin(kMark), std::end(kMark), file.begin());
}

std::map<std::string, ZipMember> read_zip(std::span<const std::byte> file, const std::string& name) {
  const Bytes bytes(file, name);
  const Directory directory = find_directory(bytes);
  std::map<std::string, ZipMember> members;
  std::uint64_t at = directory.begin;
  const std::uint64_t end = directory.begin + directory.size;
  for (std::uint64_t i = 0; i < directory.members; ++i) {
    if (end - at < kCentralSize || bytes.u32(at) != kCentralMark)
      throw bytes.fault("its directory has fewer members than declared", at);
    const std::uint64_t name_size = bytes.u16(at + 28), extra_size = bytes.u16(at + 30);
    const std::uint64_t extra = at + kCentralSize + name_size;
    const std::uint64_t next = extra + extra_size + bytes.u16(at + 32);
    if (next > end) throw bytes.fault("its directory is truncated", at);
    const std::string member = bytes.text(at + kCentralSize, name_size);
    if (!members.emplace(member, read_member(bytes, at, extra, extra_size)).second)
      throw bytes.fault("duplicate member name", at);
    at = next;
  }
  return members;
}

}  // namespace regard::formats
