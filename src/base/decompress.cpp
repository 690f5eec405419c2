#include "base/decompress.h"

#if REGARD_HAVE_ZLIB
#define ZLIB_CONST  // makes zlib declare its input pointers as const
#include <zlib.h>
#endif
#if REGARD_HAVE_ZSTD
#include <zstd.h>
#endif

#include <algorithm>
#include <limits>
#include <new>

#include "regard/error.h"

namespace regard::base {
namespace {

[[noreturn]] void refuse_corrupt(const std::string& file, const char* format, const std::string& reason) {
  throw file_error(file, std::string("the ") + format + " data is corrupt")
      .found(reason)
      .remedy("Copy the file again, or compress the original again");
}

#if REGARD_HAVE_ZLIB
class GzipDecompressor : public Decompressor {
 public:
  explicit GzipDecompressor(std::string file) : file_(std::move(file)) {
    constexpr int kWindowBits = 15, kGzipOnly = 16;
    if (inflateInit2(&stream_, kWindowBits + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~GzipDecompressor() override { inflateEnd(&stream_); }
  GzipDecompressor(const GzipDecompressor&) = delete;
  GzipDecompressor& operator=(const GzipDecompressor&) = delete;

  Step step(std::span<const char> in, std::span<char> out) override {
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    const std::size_t given = std::min(in.size(), kMost), available = std::min(out.size(), kMost);
    // As gzip does, ignore zero bytes after a member: tapes and block devices add them as padding.
    if (complete_ && !in.empty() && in.front() == '\0') {
      const auto padding = std::find_if(in.begin(), in.end(), [](char byte) { return byte != '\0'; });
      return {static_cast<std::size_t>(padding - in.begin()), 0};
    }
    if (complete_ && given > 0) {  // another gzip member follows
      inflateReset(&stream_);
      complete_ = false;
    }
    stream_.next_in = reinterpret_cast<const Bytef*>(in.data());
    stream_.avail_in = static_cast<uInt>(given);
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(available);
    const int status = complete_ ? Z_OK : inflate(&stream_, Z_NO_FLUSH);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      refuse_corrupt(file_, "gzip", stream_.msg == nullptr ? "a preset dictionary" : stream_.msg);
    complete_ = complete_ || status == Z_STREAM_END;
    return {given - stream_.avail_in, available - stream_.avail_out};
  }
  bool complete() const override { return complete_; }

 private:
  std::string file_;
  z_stream stream_{};
  bool complete_ = false;
};
#endif

#if REGARD_HAVE_ZSTD
class ZstdDecompressor : public Decompressor {
 public:
  explicit ZstdDecompressor(std::string file) : file_(std::move(file)), context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, kWindowLog);
  }
  ~ZstdDecompressor() override { ZSTD_freeDCtx(context_); }
  ZstdDecompressor(const ZstdDecompressor&) = delete;
  ZstdDecompressor& operator=(const ZstdDecompressor&) = delete;

  Step step(std::span<const char> in, std::span<char> out) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    if (complete_ && in.empty()) return {};
    const std::size_t status = ZSTD_decompressStream(context_, &to, &from);
    if (ZSTD_isError(status)) refuse_corrupt(file_, "zstd", ZSTD_getErrorName(status));
    complete_ = status == 0;
    return {from.pos, to.pos};
  }
  bool complete() const override { return complete_; }

 private:
  // maximum window size of 2^27 bytes (128 MiB); data that needs a larger window is refused
  static constexpr int kWindowLog = 27;
  std::string file_;
  ZSTD_DCtx* context_;
  bool complete_ = false;
};
#endif

[[noreturn]] void refuse_without_library(const std::string& file, const std::string& format,
                                         const std::string& library, const std::string& program) {
  throw file_error(file, "the file is compressed with " + format + ", and this build cannot decompress it")
      .remedy("Decompress it first with " + program + ", or build regard with " + library);
}

}  // namespace

std::optional<Compression> compression_of(std::string_view first) noexcept {
  using namespace std::string_view_literals;
  bool undecided = false;
  const auto matches = [&](std::string_view magic) {
    if (first.starts_with(magic)) return true;
    undecided = undecided || magic.starts_with(first);
    return false;
  };
  if (matches("\x1F\x8B"sv)) return Compression::gzip;
  if (matches("\x28\xB5\x2F\xFD"sv)) return Compression::zstd;
  for (char kind = 0x50; kind < 0x60; ++kind) {  // skippable frames may precede the data
    const char magic[4] = {kind, '\x2A', '\x4D', '\x18'};
    if (matches({magic, 4})) return Compression::zstd;
  }
  if (undecided) return std::nullopt;
  return Compression::none;
}

std::unique_ptr<Decompressor> make_decompressor(Compression compression, const std::string& file) {
#if REGARD_HAVE_ZLIB
  if (compression == Compression::gzip) return std::make_unique<GzipDecompressor>(file);
#endif
#if REGARD_HAVE_ZSTD
  if (compression == Compression::zstd) return std::make_unique<ZstdDecompressor>(file);
#endif
  if (compression == Compression::gzip) refuse_without_library(file, "gzip", "zlib", "gunzip");
  if (compression == Compression::zstd) refuse_without_library(file, "zstd", "libzstd", "unzstd");
  return nullptr;
}

}  // namespace regard::base
