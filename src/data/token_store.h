// TokenStore: many sequences of token ids, contiguous in memory or in mapped files.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/namespaces.h"

namespace regard::base {
class MappedFile;
}

namespace regard::data {

class TokenStore {
 public:
  TokenStore() = default;
  // A store over mapped files: ids (int32) and offsets (uint64, from 0 to the number of ids, in ascending
  // order), in this machine's byte order. The caller must have checked the files.
  TokenStore(std::shared_ptr<const MappedFile> ids, std::shared_ptr<const MappedFile> offsets);

  std::size_t size() const { return offsets().size() - 1; }
  std::size_t tokens() const { return ids().size(); }
  std::span<const std::int32_t> operator[](std::size_t index) const {
    return ids().subspan(offsets()[index], length(index));
  }
  std::size_t length(std::size_t index) const { return offsets()[index + 1] - offsets()[index]; }
  std::span<const std::int32_t> ids() const { return ids_file_ ? mapped_ids_ : std::span(ids_); }

  void add(std::span<const std::int32_t> ids);  // append a sequence; only for a store in memory

  std::uint64_t fingerprint() const;  // hash of all ids and of the sequence boundaries

 private:
  std::span<const std::uint64_t> offsets() const { return ids_file_ ? mapped_offsets_ : std::span(offsets_); }

  std::vector<std::int32_t> ids_;
  std::vector<std::uint64_t> offsets_{0};
  std::shared_ptr<const MappedFile> ids_file_, offsets_file_;  // mapped files; null if the store is in memory
  std::span<const std::int32_t> mapped_ids_;
  std::span<const std::uint64_t> mapped_offsets_;
};

// A parallel corpus: pair i is source[i] and target[i].
struct PairStore {
  TokenStore source, target;
  std::size_t size() const { return source.size(); }
};

}  // namespace regard::data
