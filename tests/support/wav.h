// Bytes of WAV files for tests.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace regard::testing {

// Return the lowest `bytes` bytes of `value`, the lowest first.
inline std::string little(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 255);
  return text;
}

struct WavFile {
  std::uint64_t tag = 1;  // 1: integers, 3: floating-point numbers, 6: A-law, 7: μ-law, 0xFFFE: extensible
  std::uint64_t channels = 1, rate = 16000, bits = 16;
  std::string data = {};                   // samples
  std::uint64_t size = ~std::uint64_t{0};  // size of the data in the header. Default: the true size

  std::string text() const {
    const std::uint64_t frame = channels * bits / 8, bytes = size == ~std::uint64_t{0} ? data.size() : size;
    std::string format = little(tag, 2) + little(channels, 2) + little(rate, 4) + little(rate * frame, 4) +
                         little(frame, 2) + little(bits, 2);
    if (tag == 0xFFFE)
      format += little(22, 2) + little(bits, 2) + little(0, 4) + little(1, 2) + std::string(14, 'x');
    const std::string body = "WAVEfmt " + little(format.size(), 4) + format + "LIST" + little(3, 4) + "abc" +
                             std::string(1, '\0') + "data" + little(bytes, 4) + data;
    return "RIFF" + little(body.size(), 4) + body;
  }
};

// Return a file of one channel with 16,000 samples per second.
inline std::string wav_file(std::span<const float> samples) {
  return WavFile{
      .tag = 3, .bits = 32, .data = {reinterpret_cast<const char*>(samples.data()), samples.size_bytes()}}
      .text();
}

inline std::string wav_file(const std::vector<std::int16_t>& samples) {
  std::string data;
  for (const std::int16_t sample : samples) data += little(static_cast<std::uint16_t>(sample), 2);
  return WavFile{.data = data}.text();
}

}  // namespace regard::testing
