// Writer of TensorBoard event files: scalars by step, as TensorFlow's event.proto and its record format
// (length, masked CRC-32C of the length, data, masked CRC-32C of the data) define them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/json.h"

namespace regard::train {

// CRC-32C (Castagnoli), as iSCSI (RFC 3720) defines it.
std::uint32_t crc32c(std::string_view bytes);

class EventFile {
 public:
  // Create a new event file in `folder`, which is created if it is missing. TensorBoard discards events of
  // earlier files whose step is `first_step` or later, as a resumed run writes them again. Throws io.
  EventFile(const std::filesystem::path& folder, std::int64_t first_step);
  // Append the numbers of a line of log.jsonl (run_log.h): those of a training line as "train/KEY", those of
  // a validation as "validation/KEY", of the final average as "average/KEY". Throws io.
  void write(const Json& line);

 private:
  void write_record(const std::string& event);

  AppendedFile file_;
};

}  // namespace regard::train
