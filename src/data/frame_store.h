// Stores rows of floats in memory up to a maximum size. If the rows exceed it, all rows are moved to an
// unnamed temporary file, so that memory use is bounded.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

namespace regard::data {

class FrameStore {
 public:
  explicit FrameStore(std::int64_t columns, std::size_t most_bytes = std::size_t{64} << 20);

  std::int64_t rows() const { return rows_; }
  void append(std::span<const float> values);  // append complete rows; throws io, also if the disk is full
  // Copy rows [first, first + count) to `to` [count, columns]. Throws io.
  void read(std::int64_t first, std::int64_t count, float* to);

 private:
  void spill();
  std::int64_t columns_, rows_ = 0;
  std::size_t most_bytes_;
  std::vector<float> memory_;  // rows in memory; empty once the rows are in a file
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, nullptr};
};

}  // namespace regard::data
