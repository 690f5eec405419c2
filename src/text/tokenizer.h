// A tokenizer: converts text to ids and back, as described by a Hugging Face tokenizer.json:
//   added tokens → normalizer → pre-tokenizer → model → truncation → post-processor → padding, and a decoder.
// Immutable after loading; all methods may be called from several threads concurrently.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/thread_pool.h"
#include "text/encoding.h"
#include "text/id_buffer.h"

namespace regard::text {

struct TokenizerFile;

struct EncodeOptions {
  bool add_special = true;    // if true, add the post-processor's special tokens ([CLS], </s>, …)
  bool match_special = true;  // if true, "<s>" in the text is the special token; if false, ordinary text
  bool as_file = true;        // if true, truncate and pad as the tokenizer.json specifies
  // if set, replaces the truncation of the tokenizer.json; also applies if as_file is false
  std::optional<Truncation> truncation = std::nullopt;
};

// Concatenated ids of several texts. The ids of text i are at [offsets[i], offsets[i + 1]).
struct IdRows {
  IdBuffer buffer;
  std::vector<std::size_t> offsets;  // [texts + 1]
  std::span<const std::int32_t> ids() const noexcept { return buffer.ids(); }
};

struct TextPair {
  std::string_view first;
  std::optional<std::string_view> second;
};

// Side of a translation model. Only a Marian folder has one sentencepiece model per side.
enum class Language { source, target };

class Tokenizer {
 public:
  // Load a model folder or a tokenizer file: tokenizer.json, vocab.txt, vocab.json and merges.txt, .tiktoken,
  // sentencepiece's .model, or Marian's source.spm, target.spm and vocab.json. `language` selects the side of
  // a Marian folder.
  // Throws io if a file cannot be read. Throws bad_file if a file is invalid or has an unknown component; the
  // error names the component.
  static std::shared_ptr<const Tokenizer> load(const std::filesystem::path& path,
                                               Language language = Language::source);
  // Create a tokenizer from the text of a tokenizer.json. Error messages name the file `name`. Throws
  // bad_file.
  static std::shared_ptr<const Tokenizer> from_text(std::string text, const std::string& name);
  // Create a tokenizer from a parsed tokenizer.json. Error messages name the file `name`. Throws bad_file.
  static std::shared_ptr<const Tokenizer> from_json(const Json& json, const std::string& name);
  ~Tokenizer();

  // Return the ids that encode_ids() adds before (or after) every text if add_special is set.
  std::span<const std::int32_t> before() const noexcept;
  std::span<const std::int32_t> after() const noexcept;

  // Encode a text or a pair, with truncation and padding as set in the file and in `options`. Each maximal
  // ill-formed UTF-8 sequence is read as one U+FFFD, which has the byte offsets of the original bytes and
  // counts as one code point.
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;
  Encoding encode_pair(std::string_view first, std::string_view second,
                       const EncodeOptions& options = {}) const;
  // Encode texts and return the results in the same order. Padding applies to the whole batch; `pool` may be
  // null.
  std::vector<Encoding> encode_batch(std::span<const TextPair> texts, const EncodeOptions& options = {},
                                     ThreadPool* pool = nullptr) const;
  // Return the ids of encode() without truncation and padding. Much faster than encode().
  std::vector<std::int32_t> encode_ids(std::string_view text, const EncodeOptions& options = {}) const;

  // Split a long text into views that several threads can encode. The concatenated ids of the views, without
  // special tokens, are the ids of the text. Each view except the last has about `bytes` bytes or more. There
  // is only one view if no safe split point is known, for example if the text contains added tokens or if
  // pieces can contain spaces.
  std::vector<std::string_view> parts_of(std::string_view text, std::size_t bytes,
                                         bool match_special = true) const;

  // encode_nbest() returns at most `most` (1 to 1024) segmentations of a text, best first, like
  // sentencepiece's NBestEncodeAsIds. It does not add special tokens. Throws usage if the model is not a
  // unigram model.
  struct ScoredIds {
    double score = 0;  // sum of the pieces' log-probabilities
    std::vector<std::int32_t> ids;
  };
  std::vector<ScoredIds> encode_nbest(std::string_view text, std::size_t most,
                                      bool match_special = true) const;

  // Encode many texts in order, each as encode_ids() does; `pool` may be null. The previous content of `rows`
  // is replaced and its memory is reused; after an exception the content is undefined.
  void encode_rows(std::span<const std::string_view> texts, IdRows& rows, const EncodeOptions& options = {},
                   ThreadPool* pool = nullptr) const;
  IdRows encode_rows(std::span<const std::string_view> texts, const EncodeOptions& options = {},
                     ThreadPool* pool = nullptr) const;

  // Return the text of ids, as valid UTF-8. Ids without a token are skipped.
  std::string decode(std::span<const std::int32_t> ids, bool skip_special = true) const;

  std::optional<std::int32_t> id_of(std::string_view token) const;
  std::string token_of(std::int32_t id) const;  // return the text of a token; "" for an id without a token
  bool is_special(std::int32_t id) const;
  // Return the largest id + 1, which is the number of rows of an embedding table.
  std::int64_t vocabulary_size() const noexcept;
  // Return the number of tokens. It is less than vocabulary_size() if ids have gaps.
  std::int64_t token_count() const noexcept;

  // Return the tokenizer.json without "model": components, added tokens, truncation and padding.
  const Json& description() const noexcept;
  const char* model_type() const noexcept;
  const std::optional<Truncation>& truncation() const noexcept;
  const std::optional<Padding>& padding() const noexcept;

  // Return the complete tokenizer as a tokenizer.json.
  Json to_json() const;
  void save(const std::filesystem::path& path) const;

 private:
  struct Parts;
  explicit Tokenizer(std::unique_ptr<Parts> parts);
  static std::shared_ptr<const Tokenizer> from_opened(TokenizerFile opened);
  Encoding encode_one(std::string_view text, std::int32_t type, const EncodeOptions& options) const;
  Encoding finish(Encoding first, std::optional<Encoding> second, const EncodeOptions& options) const;
  std::unique_ptr<Parts> parts_;
};

// Incremental decoder. It withholds text whose last code point may be incomplete.
class StreamDecoder {
 public:
  explicit StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special = true)
      : tokenizer_(std::move(tokenizer)), skip_special_(skip_special) {}

  // Return the new text that later ids cannot change. The concatenated results of push() and finish() are the
  // text of all ids.
  std::string push(std::int32_t id);
  std::string finish();

 private:
  std::string advance(bool at_end);
  std::shared_ptr<const Tokenizer> tokenizer_;
  // the last ids: first the context ids, which are needed only for decoding, then the ids whose text is
  // withheld
  std::vector<std::int32_t> ids_;
  std::size_t shown_ids_ = 0;  // number of context ids in ids_
  std::string shown_;          // text of the context ids
  bool skip_special_;
};

}  // namespace regard::text
