// The bytes that a connection still has to send, in order. Small buffers are joined; a large buffer is sent
// in chunks without being copied.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

namespace regard::serve {

class OutgoingBytes {
 public:
  // `most` is the maximum size of a chunk in bytes.
  explicit OutgoingBytes(std::size_t most) : most_(most) {}

  void add(std::string bytes) {
    if (!bytes.empty()) parts_.push_back(std::move(bytes));
  }
  // Return the next chunk to send, or an empty string if all bytes have been sent. The result remains valid
  // until taken() is called, even if bytes are added.
  std::string_view next() {
    if (taken_ == sending_.size()) {
      sending_.clear(), taken_ = 0;
      while (!parts_.empty() && (sending_.empty() || sending_.size() + parts_[0].size() <= most_)) {
        if (sending_.empty())
          sending_.swap(parts_[0]);
        else
          sending_ += parts_[0];
        parts_.pop_front();
      }
    }
    return std::string_view(sending_).substr(taken_, most_);
  }
  // Record that the first `bytes` bytes of next() have been sent.
  void taken(std::size_t bytes) { taken_ += std::min(bytes, sending_.size() - taken_); }

 private:
  std::size_t most_;
  std::deque<std::string> parts_;  // buffers to send after sending_; none is empty
  std::string sending_;
  std::size_t taken_ = 0;  // number of bytes of sending_ that have been sent
};

}  // namespace regard::serve
