#include "data/token_store.h"

#include "base/hash.h"

namespace regard::data {

std::uint64_t TokenStore::fingerprint() const {
  Xxh3Stream hash;
  hash.add(std::as_bytes(std::span(ids_)));
  hash.add(std::as_bytes(std::span(offsets_)));
  return hash.value();
}

}  // namespace regard::data
