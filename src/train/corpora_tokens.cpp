#include "train/corpora_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/hash.h"
#include "train/corpora.h"

namespace regard::train {
namespace {

// Minimum total size of the files, in bytes, for which token ids are cached by default.
constexpr std::uintmax_t kCached = std::uintmax_t{64} << 20;

bool wants_cache(const RunConfig& config) {
  if (config.data.cache == "never" || config.output.folder.empty()) return false;
  std::uintmax_t bytes = 0;
  for (const auto* files : {&config.data.train, &config.data.valid})
    for (const std::string& file : *files) {
      if (file == kStandardInput) return false;
      std::error_code failure;
      const std::uintmax_t size = std::filesystem::file_size(file, failure);
      // A file that is not regular (such as a pipe) can be read only once, so its ids are not cached.
      if (failure) return false;
      bytes += size;
    }
  return config.data.cache == "always" || config.data.cache == kReadCache || bytes >= kCached;
}

// Return a hash of everything on which the ids depend: the content of the files, the tokenizers and the
// reading rules.
std::uint64_t content_of(const RunConfig& config, const Tokenizers& tokenizers) {
  const DataConfig& data = config.data;
  Json all{{"task", config.task},
           {"delimiter", data.delimiter},
           {"malformed", data.malformed},
           {"empty_lines", data.empty_lines},
           {"bad_utf8", data.bad_utf8},
           {"normalize_whitespace", data.normalize_whitespace},
           {"max_length", data.max_length},
           {"max_skipped", data.max_skipped},
           {"valid_fraction", data.valid_fraction},
           {"header", data.header},
           {"valid_header", data.valid_header}};
  for (const auto* files : {&data.train, &data.valid}) {
    Json list = Json::array();
    for (const std::string& file : *files)
      list.push_back({data::format_name(corpus_format(config, file)), corpus_columns(config, file),
                      hex(data::content_hash(file))});
    all[files == &data.train ? "train" : "valid"] = list;
  }
  if (!data.weights.empty()) all["weighted"] = true;  // the ids then depend on the file boundaries
  if (config.task == "language-model")
    if (const std::int32_t end = special_ids(tokenizers).end; end != special_ids(*tokenizers.target).end)
      all["end"] = end;
  for (const auto& [name, content] : tokenizers.files()) all["tokenizers"][name] = hex(xxh3(content));
  return xxh3(all.dump());
}

}  // namespace

std::filesystem::path token_cache_folder(const RunConfig& config) {
  return std::filesystem::path(config.output.folder).parent_path() / "token-cache";
}

EncodedCorpora::EncodedCorpora(const RunConfig& config, const Tokenizers& tokenizers, std::size_t stores) {
  content_.stores.resize(stores);
  if (!wants_cache(config)) return;
  content_now_ = [&config, &tokenizers] { return content_of(config, tokenizers); };
  key_ = {.content = content_now_(),
          .stores = stores,
          .vocabulary_size =
              std::max(tokenizers.source->vocabulary_size(), tokenizers.target->vocabulary_size())};
  folder_ = token_cache_folder(config) / hex(key_.content);
  writes_ = config.data.cache != kReadCache;
  open();
  if (found_ || !writes_) return;
  if (std::filesystem::exists(folder_.parent_path())) remove_leftovers(folder_.parent_path());
  writer_ = std::make_unique<data::TokenCacheWriter>(folder_, key_);
}

void EncodedCorpora::open() {
  std::string fault;
  std::optional<data::TokenCache> cache = data::open_token_cache(folder_, key_, fault);
  found_ = cache.has_value();
  if (found_) {
    content_ = std::move(*cache);
    notes_.push_back("token ids: read from " + folder_.string());
  } else if (!fault.empty()) {
    notes_.push_back(fmt::format("token ids: the cache is damaged and {}: {}",
                                 writes_ ? "created again" : "not used", fault));
    if (writes_) remove_folder(folder_);
  }
}

void EncodedCorpora::add(std::size_t store, std::span<const std::int32_t> ids) {
  if (writer_)
    writer_->add(store, ids);
  else
    content_.stores[store].add(ids);
}

void EncodedCorpora::add_text(std::vector<std::string> text) {
  if (writer_)
    writer_->add_text(text);
  else
    content_.texts.push_back(std::move(text));
}

void EncodedCorpora::finish(const Json& about) {
  content_.about = about;
  if (!writer_) return;
  // The ids of a file that changed while it was read must not be stored under the hash of its old content.
  if (content_now_() != key_.content)
    throw Error(ErrorKind::bad_file,
                "a file of the training or validation data has changed while it was read")
        .remedy("Start the run again when the files are complete");
  try {
    writer_->commit(about);
  } catch (const Error& error) {
    // ErrorKind::usage means that the folder exists, because another run has written the same cache. Use the
    // existing cache.
    if (error.kind() != ErrorKind::usage) throw;
  }
  writer_.reset();
  open();
  if (!found_) throw io_error(folder_, "cannot open the cache of token ids that was just written", EIO);
  notes_.back() = "token ids: written to " + folder_.string();
}

}  // namespace regard::train
