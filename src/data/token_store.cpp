#include "data/token_store.h"

#include <cassert>

#include "base/file.h"
#include "base/hash.h"

namespace regard::data {
namespace {

template <class T>
std::span<const T> values_of(const MappedFile& file) {
  return {reinterpret_cast<const T*>(file.bytes().data()), file.bytes().size() / sizeof(T)};
}

}  // namespace

TokenStore::TokenStore(std::shared_ptr<const MappedFile> ids, std::shared_ptr<const MappedFile> offsets)
    : ids_file_(std::move(ids)),
      offsets_file_(std::move(offsets)),
      mapped_ids_(values_of<std::int32_t>(*ids_file_)),
      mapped_offsets_(values_of<std::uint64_t>(*offsets_file_)) {}

void TokenStore::add(std::span<const std::int32_t> ids) {
  assert(!ids_file_);
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  offsets_.push_back(ids_.size());
}

std::uint64_t TokenStore::fingerprint() const {
  Xxh3Stream hash;
  hash.add(std::as_bytes(ids()));
  hash.add(std::as_bytes(offsets()));
  return hash.value();
}

}  // namespace regard::data
