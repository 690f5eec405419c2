#include "data/frame_store.h"

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/file.h"

namespace regard::data {
namespace {

[[noreturn]] void fail(const char* action) {
  throw io_error("temporary file", std::string("cannot ") + action, errno);
}

}  // namespace

FrameStore::FrameStore(std::int64_t columns, std::size_t most_bytes)
    : columns_(columns), most_bytes_(most_bytes) {}

void FrameStore::spill() {
  file_ = {std::tmpfile(), std::fclose};
  if (!file_) fail("create");
  if (std::fwrite(memory_.data(), sizeof(float), memory_.size(), file_.get()) != memory_.size())
    fail("write");
  memory_ = {};
}

void FrameStore::append(std::span<const float> values) {
  rows_ += std::ssize(values) / columns_;
  if (!file_ && (memory_.size() + values.size()) * sizeof(float) > most_bytes_) spill();
  if (!file_) {
    memory_.insert(memory_.end(), values.begin(), values.end());
    return;
  }
  if (fseeko(file_.get(), 0, SEEK_END) != 0) fail("seek");
  if (std::fwrite(values.data(), sizeof(float), values.size(), file_.get()) != values.size()) fail("write");
}

void FrameStore::read(std::int64_t first, std::int64_t count, float* to) {
  const auto begin = static_cast<std::size_t>(first * columns_),
             size = static_cast<std::size_t>(count * columns_);
  if (!file_) {
    std::copy_n(memory_.data() + begin, size, to);
    return;
  }
  if (fseeko(file_.get(), static_cast<off_t>(begin * sizeof(float)), SEEK_SET) != 0) fail("seek");
  if (std::fread(to, sizeof(float), size, file_.get()) != size) fail("read");
}

}  // namespace regard::data
