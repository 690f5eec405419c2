#include "data/token_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/counted.h"
#include "base/hash.h"
#include "base/line_reader.h"

namespace regard::data {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr const char* kAbout = "about.json";
constexpr const char* kTexts = "texts";

std::string ids_name(std::size_t store) {
  return std::to_string(store) + ".ids";
}
std::string offsets_name(std::size_t store) {
  return std::to_string(store) + ".offsets";
}

// Return a text that identifies the file format. It includes a hash that depends on the machine's byte order,
// so that a cache written with another byte order is not used.
std::string form_text() {
  const std::uint32_t order = 0x01020304;
  return hex(xxh3(std::as_bytes(std::span(&order, 1)))) + "-" + std::to_string(kVersion);
}

// Checks the files of a cache against its about.json. Throws bad_file.
class CacheReader {
 public:
  CacheReader(std::filesystem::path folder, const TokenCacheKey& key)
      : folder_(std::move(folder)), key_(key) {}

  TokenCache read() {
    const std::string name = (folder_ / kAbout).string();
    Json about = read_json(name);
    if (require<std::string>(about, "form", name) != form_text() ||
        require<std::string>(about, "key", name) != hex(key_.content) ||
        require<std::size_t>(about, "stores", name) != key_.stores)
      throw file_error(name, "the cache was created from other data");
    files_ = require<Json>(about, "files", name);
    TokenCache cache;
    for (std::size_t i = 0; i < key_.stores; ++i) cache.stores.push_back(store(i));
    read_texts(cache);
    cache.about = require<Json>(about, "about", name);
    return cache;
  }

 private:
  std::shared_ptr<const MappedFile> checked(const std::string& file) {
    auto mapped = std::make_shared<const MappedFile>(folder_ / file);
    const Json entry = require<Json>(files_, file, kAbout);
    const std::string name = (folder_ / file).string();
    if (mapped->bytes().size() != require<std::uint64_t>(entry, "bytes", name))
      throw file_error(name, "the length of the file has changed")
          .found(counted(mapped->bytes().size(), "byte"))
          .expected(counted(require<std::uint64_t>(entry, "bytes", name), "byte"));
    if (hash_of(*mapped) != require<std::string>(entry, "xxh3", name))
      throw file_error(name, "the checksum of the file has changed")
          .found(hash_of(*mapped))
          .expected(require<std::string>(entry, "xxh3", name));
    return mapped;
  }

  // Return the hash of the file. Mapped pages are released after they are read, because the file may be
  // larger than the memory.
  static std::string hash_of(const MappedFile& file) {
    constexpr std::size_t kPiece = std::size_t{1} << 24;
    Xxh3Stream hash;
    const auto bytes = file.bytes();
    for (std::size_t begin = 0; begin < bytes.size(); begin += kPiece) {
      const std::size_t size = std::min(kPiece, bytes.size() - begin);
      hash.add(bytes.subspan(begin, size));
      if (bytes.size() > kPiece) file.release(begin, size);
    }
    return hex(hash.value());
  }

  TokenStore store(std::size_t index) {
    const auto ids = checked(ids_name(index)), offsets = checked(offsets_name(index));
    const std::string name = (folder_ / offsets_name(index)).string();
    const auto* starts = reinterpret_cast<const std::uint64_t*>(offsets->bytes().data());
    const std::size_t count = offsets->bytes().size() / sizeof(std::uint64_t);
    const std::uint64_t total = ids->bytes().size() / sizeof(std::int32_t);
    if (count == 0 || offsets->bytes().size() % sizeof(std::uint64_t) != 0 ||
        ids->bytes().size() % sizeof(std::int32_t) != 0 || starts[0] != 0 || starts[count - 1] != total ||
        !std::is_sorted(starts, starts + count))
      throw file_error(name, "the offsets of the cache do not match its token ids");
    TokenStore store(ids, offsets);
    const auto wrong = std::find_if(store.ids().begin(), store.ids().end(),
                                    [this](std::int32_t id) { return id < 0 || id >= key_.vocabulary_size; });
    if (wrong != store.ids().end())
      throw file_error(name, "a token id is outside the vocabulary")
          .found(std::to_string(*wrong))
          .expected("ids from 0 to " + std::to_string(key_.vocabulary_size - 1));
    ids->release(0, ids->bytes().size());
    return store;
  }

  void read_texts(TokenCache& cache) {
    checked(kTexts);
    const std::string name = (folder_ / kTexts).string();
    LineReader lines(name);
    for (std::string line; lines.next(line);)
      cache.texts.push_back(json_as<std::vector<std::string>>(parse_json(line, name), "texts", name));
  }

  std::filesystem::path folder_;
  const TokenCacheKey& key_;
  Json files_;
};

}  // namespace

TokenCacheWriter::TokenCacheWriter(const std::filesystem::path& folder, const TokenCacheKey& key)
    : key_(key), folder_(folder) {
  const std::filesystem::path& inside = folder_.temporary();
  for (std::size_t i = 0; i < key.stores; ++i) {
    stores_.push_back({std::make_unique<AtomicFile>(inside / ids_name(i)),
                       std::make_unique<AtomicFile>(inside / offsets_name(i)), 0});
    const std::uint64_t first = 0;
    stores_.back().offsets->write(std::as_bytes(std::span(&first, 1)));
  }
  texts_ = std::make_unique<AtomicFile>(inside / kTexts);
}

void TokenCacheWriter::add(std::size_t store, std::span<const std::int32_t> ids) {
  Store& to = stores_[store];
  to.ids->write(std::as_bytes(ids));
  to.count += ids.size();
  to.offsets->write(std::as_bytes(std::span(&to.count, 1)));
}

void TokenCacheWriter::add_text(const std::vector<std::string>& text) {
  texts_->write(Json(text).dump() + "\n");
}

Json TokenCacheWriter::finish(AtomicFile& file) {
  file.commit();
  return {{"bytes", file.size()}, {"xxh3", hex(file.xxh3())}};
}

void TokenCacheWriter::commit(const Json& about) {
  Json files = Json::object();
  for (std::size_t i = 0; i < stores_.size(); ++i) {
    files[ids_name(i)] = finish(*stores_[i].ids);
    files[offsets_name(i)] = finish(*stores_[i].offsets);
  }
  files[kTexts] = finish(*texts_);
  const Json whole{{"form", form_text()},
                   {"key", hex(key_.content)},
                   {"stores", key_.stores},
                   {"files", files},
                   {"about", about}};
  write_file_atomically(folder_.temporary() / kAbout, whole.dump(1));
  folder_.commit();
}

std::optional<TokenCache> open_token_cache(const std::filesystem::path& folder, const TokenCacheKey& key,
                                           std::string& fault) {
  fault.clear();
  if (!std::filesystem::exists(folder)) return std::nullopt;
  try {
    return CacheReader(folder, key).read();
  } catch (const Error& error) {
    fault = error.what();
    return std::nullopt;
  }
}

std::uint64_t content_hash(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw io_error(path, "cannot open", errno);
  std::vector<std::byte> piece(std::size_t{1} << 20);
  Xxh3Stream hash;
  while (true) {
    const ssize_t count = ::read(descriptor, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    const int error = errno;
    if (count <= 0) ::close(descriptor);
    if (count < 0) throw io_error(path, "cannot read", error);
    if (count == 0) return hash.value();
    hash.add(std::span(piece).first(static_cast<std::size_t>(count)));
  }
}

}  // namespace regard::data
