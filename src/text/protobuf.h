// Reader for the part of Protocol Buffers' wire format that sentencepiece models use: a message is a sequence
// of fields, each with a number and a value. Values are not copied.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace regard::text {

struct ProtobufField {
  std::uint32_t number = 0;
  std::uint64_t value = 0;  // value of a varint or fixed-size field
  std::string_view bytes;   // content of a length-delimited field
  std::size_t place = 0;    // offset of `bytes` in the file
  int wire_type = 0;        // 0: varint, 1: fixed 64 bits, 2: length-delimited, 5: fixed 32 bits

  float as_float() const noexcept;
};

class ProtobufReader {
 public:
  // `base` is the offset of the message in the file, for error messages.
  ProtobufReader(std::string_view message, std::string file, std::size_t base = 0)
      : message_(message), file_(std::move(file)), base_(base) {}
  // Read the next field. Returns false at the end. Throws bad_file with file and byte for malformed data.
  bool next(ProtobufField& field);

 private:
  [[noreturn]] void fail(const char* what) const;
  std::uint64_t varint();
  std::uint64_t fixed(std::size_t size);

  std::string_view message_;
  std::string file_;
  std::size_t base_ = 0, place_ = 0;
};

}  // namespace regard::text
