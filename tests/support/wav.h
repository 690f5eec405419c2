// Bytes of WAV files with one channel and 16,000 samples per second.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace regard::testing {

// Return a WAV file. `format` is 1 for integers and 3 for floating-point numbers; `data` contains the
// samples, little-endian.
inline std::string wav_file(unsigned format, unsigned bits, std::string_view data) {
  const auto number = [](std::size_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 255);
    return text;
  };
  const std::size_t frame = bits / 8;
  return "RIFF" + number(36 + data.size(), 4) + "WAVEfmt " + number(16, 4) + number(format, 2) +
         number(1, 2) + number(16000, 4) + number(16000 * frame, 4) + number(frame, 2) + number(bits, 2) +
         "data" + number(data.size(), 4) + std::string(data);
}

inline std::string wav_file(std::span<const float> samples) {
  return wav_file(3, 32, {reinterpret_cast<const char*>(samples.data()), samples.size_bytes()});
}

inline std::string wav_file(const std::vector<std::int16_t>& samples) {
  std::string data;
  for (const int sample : samples)
    (data += static_cast<char>(sample & 255)) += static_cast<char>(sample >> 8 & 255);
  return wav_file(1, 16, data);
}

}  // namespace regard::testing
