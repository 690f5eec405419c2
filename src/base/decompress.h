// Streaming decompression of gzip (RFC 1952) and zstd (RFC 8878). Each step fills at most the caller's
// buffer, so memory use does not depend on the decompressed size.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/namespaces.h"

namespace regard::base {

enum class Compression { none, gzip, zstd };

// Return the compression that the first bytes of the data indicate; std::nullopt if `first` is too short to
// decide.
std::optional<Compression> compression_of(std::string_view first) noexcept;

class Decompressor {
 public:
  struct Step {
    std::size_t consumed = 0, produced = 0;  // numbers of bytes consumed from `in` and written to `out`
  };
  virtual ~Decompressor() = default;

  // Decompress from `in` to `out`. May stop before `in` is used up or `out` is full, for example after a gzip
  // member. Concatenated gzip members or zstd frames are decompressed as one stream by further calls. Throws
  // bad_file if the data is corrupt.
  virtual Step step(std::span<const char> in, std::span<char> out) = 0;
  // Return true if the data may end after the bytes consumed so far.
  virtual bool complete() const = 0;
};

// Return a decompressor; null for Compression::none. `file` is the name used in messages. Throws bad_file
// with a remedy if regard was built without the library for this compression.
std::unique_ptr<Decompressor> make_decompressor(Compression compression, const std::string& file);

}  // namespace regard::base
