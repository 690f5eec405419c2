// A tokenizer: text to ids and back, as a Hugging Face tokenizer.json describes it:
//   added tokens → normalizer → pre-tokenizer → model → truncation → post-processor → padding, and a decoder.
// Immutable after loading; every method may be called from many threads at once.
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
  bool add_special = true;    // what the post-processor adds ([CLS], </s>, …)
  bool match_special = true;  // "<s>" in the text is that token; false: it is text like any other
  bool as_file = true;        // cut and padded as the file asks for it; false: neither
  std::optional<Truncation> truncation = std::nullopt;  // instead of the file's
};

// Ids of texts end to end: text i has [offsets[i], offsets[i + 1]).
struct IdRows {
  IdBuffer buffer;
  std::vector<std::size_t> offsets;  // one more than there are texts
  std::span<const std::int32_t> ids() const noexcept { return buffer.ids(); }
};

struct TextPair {
  std::string_view first;
  std::optional<std::string_view> second;
};

// Which side of a translation model's folder: only Marian's has two vocabularies.
enum class Language { source, target };

class Tokenizer {
 public:
  // A model's folder or a tokenizer's file: tokenizer.json, vocab.txt, vocab.json and merges.txt, .tiktoken,
  // sentencepiece's .model, Marian's source.spm, target.spm and vocab.json (there `language` says which
  // side). Throws io or bad_file; an unknown component is an error that names it.
  static std::shared_ptr<const Tokenizer> load(const std::filesystem::path& path,
                                               Language language = Language::source);
  // The text of a tokenizer.json; `name` stands for the file in messages.
  static std::shared_ptr<const Tokenizer> from_text(std::string text, const std::string& name);
  // `json` as in a tokenizer.json; `name` stands for the file in messages.
  static std::shared_ptr<const Tokenizer> from_json(const Json& json, const std::string& name);
  ~Tokenizer();

  // What encode_ids() puts around every single text where special tokens are added.
  std::span<const std::int32_t> before() const noexcept;
  std::span<const std::int32_t> after() const noexcept;

  // Bytes that are not UTF-8 are read as U+FFFD, one for each maximal ill-formed part; offsets are then those
  // of the bytes, and count the part as one code point. Truncation and padding act if the file asks for them.
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;
  Encoding encode_pair(std::string_view first, std::string_view second,
                       const EncodeOptions& options = {}) const;
  // In order; padding acts on the batch. `pool` may be null.
  std::vector<Encoding> encode_batch(std::span<const TextPair> texts, const EncodeOptions& options = {},
                                     ThreadPool* pool = nullptr) const;
  // Only the ids of one text, much faster: encode().ids without truncation and padding.
  std::vector<std::int32_t> encode_ids(std::string_view text, const EncodeOptions& options = {}) const;

  // Views of a long text, each of at least `bytes` bytes but the last, whose ids without special tokens, end
  // to end, are those of the text: what may be worked on by several threads. One view where the pipeline has
  // no place that may be cut for certain (a prefix, a pattern that is not known, pieces over spaces).
  std::vector<std::string_view> parts_of(std::string_view text, std::size_t bytes,
                                         bool match_special = true) const;

  // The `most` best ways to cut a text, the best first, without special tokens around them; fewer where there
  // are fewer. Unigram models (sentencepiece's NBestEncodeAsIds); others throw usage. most: 1 to 1024.
  struct ScoredIds {
    double score = 0;  // the sum of the pieces' log-probabilities
    std::vector<std::int32_t> ids;
  };
  std::vector<ScoredIds> encode_nbest(std::string_view text, std::size_t most,
                                      bool match_special = true) const;

  // encode_ids() for many texts, in order, over `pool` if it is not null. `rows` is overwritten, and its
  // memory used again; if it throws, rows is of no use.
  void encode_rows(std::span<const std::string_view> texts, IdRows& rows, const EncodeOptions& options = {},
                   ThreadPool* pool = nullptr) const;
  IdRows encode_rows(std::span<const std::string_view> texts, const EncodeOptions& options = {},
                     ThreadPool* pool = nullptr) const;

  // Ids that stand for nothing are left out. The result is valid UTF-8.
  std::string decode(std::span<const std::int32_t> ids, bool skip_special = true) const;

  std::optional<std::int32_t> id_of(std::string_view token) const;
  std::string token_of(std::int32_t id) const;  // "" for a hole
  bool is_special(std::int32_t id) const;
  // One more than the largest id: the rows that an embedding needs.
  std::int64_t vocabulary_size() const noexcept;
  // Tokens that there are: less than vocabulary_size() if there are holes.
  std::int64_t token_count() const noexcept;

  // What the file says: components, added tokens, truncation and padding, but not the vocabulary.
  const Json& description() const noexcept;
  const char* model_type() const noexcept;
  const std::optional<Truncation>& truncation() const noexcept;
  const std::optional<Padding>& padding() const noexcept;

  // The whole as a tokenizer.json.
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

// Decodes ids as they come. Text whose last code point may not be complete yet is held back.
class StreamDecoder {
 public:
  explicit StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special = true)
      : tokenizer_(std::move(tokenizer)), skip_special_(skip_special) {}

  // The text that is certain now: everything pushed so far decodes to all results joined, plus finish().
  std::string push(std::int32_t id);
  std::string finish();

 private:
  std::string advance(bool at_end);
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::vector<std::int32_t>
      ids_;                    // a window: what the next token's text may depend on, then what is held back
  std::size_t shown_ids_ = 0;  // of the window
  std::string shown_;          // their text
  bool skip_special_;
};

}  // namespace regard::text
