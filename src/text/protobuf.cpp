#include "text/protobuf.h"

#include <bit>

#include "regard/error.h"

namespace regard::text {

float ProtobufField::as_float() const noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value));
}

void ProtobufReader::fail(const char* what) const {
  throw Error(ErrorKind::bad_file, what)
      .at({file_, -1, static_cast<std::int64_t>(base_ + place_)})
      .expected("sentencepiece's model, a Protocol Buffers message");
}

std::uint64_t ProtobufReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (place_ == message_.size()) fail("the file is truncated within a number");
    const auto byte = static_cast<std::uint8_t>(message_[place_++]);
    value |= static_cast<std::uint64_t>(byte & 0x7Fu) << shift;
    if (byte < 0x80) return value;
  }
  fail("a number is too long");
}

std::uint64_t ProtobufReader::fixed(std::size_t size) {
  if (message_.size() - place_ < size) fail("the file is truncated within a number");
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i)
    value |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(message_[place_ + i])) << (8 * i);
  place_ += size;
  return value;
}

bool ProtobufReader::next(ProtobufField& field) {
  if (place_ == message_.size()) return false;
  const std::uint64_t tag = varint();
  field = {};
  field.number = static_cast<std::uint32_t>(tag >> 3);
  field.wire_type = static_cast<int>(tag & 7u);
  if (field.number == 0 || tag >> 3 > 0x1FFFFFFFu) fail("invalid field number");
  switch (field.wire_type) {
    case 0:
      field.value = varint();
      return true;
    case 1:
      field.value = fixed(8);
      return true;
    case 2: {
      const std::uint64_t size = varint();
      if (size > message_.size() - place_) fail("a field extends beyond the end of the file");
      field.bytes = message_.substr(place_, size);
      field.place = base_ + place_;
      place_ += size;
      return true;
    }
    case 5:
      field.value = fixed(4);
      return true;
    default:
      fail("unknown wire type");
  }
}

}  // namespace regard::text
