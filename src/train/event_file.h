// Writer of TensorBoard event files. They contain scalars by step in the format of TensorFlow's event.proto,
// in records (length, masked CRC-32C of the length, data, masked CRC-32C of the data).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/json.h"

namespace regard::train {

// Return the CRC-32C (Castagnoli) of the bytes, as defined by iSCSI (RFC 3720).
std::uint32_t crc32c(std::string_view bytes);

class EventFile {
 public:
  // Create a new event file in `folder`; the folder is created if it is missing. The file contains an event
  // that causes TensorBoard to discard the events of earlier files from step `first_step` on, because a
  // resumed run writes these events again. Throws io.
  EventFile(const std::filesystem::path& folder, std::int64_t first_step);
  // Append the numbers of a line of log.jsonl (run_log.h). Their names are "train/KEY" for a training line,
  // "validation/KEY" for a validation, and "average/KEY" for the final average. Throws io.
  void write(const Json& line);

 private:
  void write_record(const std::string& event);

  AppendedFile file_;
};

}  // namespace regard::train
