#include "base/input_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"

namespace regard::base {

InputStream::InputStream(const std::filesystem::path& path)
    : name_(path == "-" ? "standard input" : path.string()) {
  descriptor_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw io_error(path, "cannot open", errno);
}

InputStream::~InputStream() {
  if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
}

bool InputStream::ready() const {
  if (ended_ || output_waits_ || (decided_ && begin_ < raw_.size())) return true;
  pollfd waiting{descriptor_, POLLIN, 0};
  return ::poll(&waiting, 1, 0) > 0;
}

// Read once from the file into raw_. Returns false at the end of the file.
bool InputStream::fill() {
  if (ended_) return false;
  raw_.erase(0, begin_);
  begin_ = 0;
  const std::size_t before = raw_.size();
  raw_.resize(before + kPiece);
  ssize_t count = -1;
  do {
    count = ::read(descriptor_, raw_.data() + before, kPiece);
  } while (count < 0 && errno == EINTR && !(stopped_ != nullptr && stopped_()));
  const int error = errno;
  raw_.resize(before + static_cast<std::size_t>(count > 0 ? count : 0));
  interrupted_ = count < 0 && error == EINTR;
  if (count < 0 && !interrupted_) throw io_error(name_, "cannot read", error);
  ended_ = count <= 0;
  return !ended_;
}

// Choose the decompressor. Returns false if more bytes are needed to decide.
bool InputStream::decide(bool ended) {
  if (decided_) return true;
  const auto compression = compression_of(raw_);
  if (!compression && !ended) return false;
  decided_ = true;
  decompressor_ = make_decompressor(compression.value_or(Compression::none), name_);
  return true;
}

bool InputStream::read(std::string& to) {
  if ((begin_ == raw_.size() || !decided_) && !output_waits_) fill();
  if (!decide(ended_)) return true;
  if (decompressor_ != nullptr) return decompress(to);
  if (begin_ == raw_.size()) return false;
  to.append(raw_, begin_);
  begin_ = raw_.size();
  return true;
}

bool InputStream::decompress(std::string& to) {
  if (begin_ == raw_.size() && ended_ && !output_waits_) {
    if (decompressor_->complete() || interrupted_) return false;
    throw file_error(name_, "the compressed data is truncated")
        .remedy("Copy the file again, or compress the original again");
  }
  const std::size_t before = to.size();
  to.resize(before + kPiece);
  const Decompressor::Step step =
      decompressor_->step(std::span(raw_).subspan(begin_), std::span(to).subspan(before));
  to.resize(before + step.produced);
  begin_ += step.consumed;
  output_waits_ = step.produced == kPiece;
  return true;
}

std::string read_decompressed(const std::filesystem::path& path, std::uint64_t max_bytes) {
  InputStream stream(path);
  std::string bytes;
  while (stream.read(bytes))
    if (bytes.size() > max_bytes)
      throw file_error(stream.name(), "the file is too long")
          .expected("at most " + std::to_string(max_bytes) + " bytes after decompression");
  return bytes;
}

bool can_be_read_again(const std::filesystem::path& path) noexcept {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

}  // namespace regard::base
