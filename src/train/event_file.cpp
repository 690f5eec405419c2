#include "train/event_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "base/wall_clock.h"

namespace regard::train {
namespace {

// The wire types of Protocol Buffers. In this file, numbers in parentheses are fields of event.proto and
// summary.proto.
enum Wire : std::uint32_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void put_varint(std::string& out, std::uint64_t value) {
  while (value >= 128) {
    out += static_cast<char>((value & 127) | 128);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

void put_little_endian(std::string& out, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) out += static_cast<char>((value >> (8 * i)) & 255);
}

void put_tag(std::string& out, std::uint32_t field, Wire wire) {
  put_varint(out, field << 3 | wire);
}

void put_bytes(std::string& out, std::uint32_t field, std::string_view content) {
  put_tag(out, field, bytes);
  put_varint(out, content.size());
  out += content;
}

// Return an Event with wall_time (field 1, in seconds) and step (field 2).
std::string event_at(std::int64_t step) {
  std::string event;
  put_tag(event, 1, fixed64);
  put_little_endian(event, std::bit_cast<std::uint64_t>(utc_seconds()), 8);
  put_tag(event, 2, varint);
  put_varint(event, static_cast<std::uint64_t>(step));
  return event;
}

// Return a Summary.Value with tag (field 1) and simple_value (field 2).
std::string scalar(const std::string& tag, double number) {
  std::string value;
  put_bytes(value, 1, tag);
  put_tag(value, 2, fixed32);
  put_little_endian(value, std::bit_cast<std::uint32_t>(static_cast<float>(number)), 4);
  return value;
}

std::string summary_of(const Json& values, const std::string& prefix) {
  std::string summary;
  for (const auto& [key, value] : values.items())
    if (value.is_number() && key != "step") put_bytes(summary, 1, scalar(prefix + key, value.get<double>()));
  return summary;
}

// Mask a checksum as the record format requires: an unmasked checksum of data that contains checksums is
// weak.
std::uint32_t masked(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

constexpr std::string_view kPrefix = "events.out.tfevents.";

// Return the Unix time, in seconds, in the name of an event file; 0 for other names.
std::int64_t seconds_in(const std::string& name) {
  std::int64_t seconds = 0;
  if (name.starts_with(kPrefix))
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), seconds);
  return seconds;
}

// Return the first free name for a new file. It is greater than all existing names, even if the clock was set
// back, because TensorBoard reads the files of a folder in the order of their names.
std::filesystem::path new_path(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  auto seconds = static_cast<std::int64_t>(utc_seconds());
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    seconds = std::max(seconds, seconds_in(entry.path().filename().string()));
  for (int number = 0;; ++number) {
    std::filesystem::path path = folder / fmt::format("{}{:010}.{:04}.regard", kPrefix, seconds, number);
    if (!std::filesystem::exists(path)) return path;
  }
}

}  // namespace

std::uint32_t crc32c(std::string_view text) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> out{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82f63b78u : 0u);
      out[i] = value;
    }
    return out;
  }();
  std::uint32_t crc = 0xffffffffu;
  for (const char c : text) crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(c)) & 255];
  return ~crc;
}

EventFile::EventFile(const std::filesystem::path& folder, std::int64_t first_step) : file_(new_path(folder)) {
  std::string version = event_at(0);
  put_bytes(version, 3, "brain.Event:2");
  write_record(version);
  std::string start = event_at(first_step);
  std::string session;  // a SessionLog whose field status (1) is START (1)
  put_tag(session, 1, varint);
  put_varint(session, 1);
  put_bytes(start, 7, session);
  write_record(start);
}

void EventFile::write(const Json& line) {
  std::string summary;
  if (line.contains("validation")) {
    summary = summary_of(line["validation"], line.contains("averaged") ? "average/" : "validation/");
  } else if (!line.contains("run")) {
    summary = summary_of(line, "train/");
  }
  if (summary.empty()) return;
  std::string event = event_at(line["step"].get<std::int64_t>());
  put_bytes(event, 5, summary);
  write_record(event);
}

void EventFile::write_record(const std::string& event) {
  std::string record;
  put_little_endian(record, event.size(), 8);
  put_little_endian(record, masked(crc32c(record)), 4);
  record += event;
  put_little_endian(record, masked(crc32c(event)), 4);
  file_.write(record);
}

}  // namespace regard::train
