// Tokenizers: convert text to token ids and back, read every tokenizer format that the program supports, and
// train new tokenizers.
//
//   regard::Tokenizer tokenizer("models/MiniLM");
//   regard::Encoding encoding = tokenizer.encode("The river bank.");
//   for (std::size_t i = 0; i < encoding.ids.size(); ++i)
//     std::printf("%d %s\n", encoding.ids[i], encoding.tokens[i].c_str());
//   std::string text = tokenizer.decode(encoding.ids);
//
// Texts are UTF-8; other bytes throw invalid_input. Errors are thrown as regard::Error. A moved-from object
// can only be assigned to or destroyed; every other call throws usage and names the type.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "regard/export.h"

namespace regard {

class Model;  // defined in regard/model.h

// Side of a translation model. Most models have one tokenizer for both sides; Marian folders have two.
enum class TextSide : std::uint8_t { source, target };

enum class TruncationStrategy : std::uint8_t {
  longest_first,  // for a pair: remove one token at a time from the longer text
  only_first,
  only_second,
};

struct EncodeOptions {
  bool add_special = true;    // add the tokenizer's special tokens, such as [CLS] and </s>
  bool match_special = true;  // true: "<s>" in a text is the special token; false: it is ordinary text
  bool as_file = true;        // truncate and pad as set in the tokenizer's file; if false, do neither
  // If above 0, truncate to this number of tokens, including special tokens, regardless of the limit in the
  // tokenizer's file.
  std::int64_t max_length = 0;
  std::int64_t stride = 0;  // tokens shared by consecutive parts of a truncated text
  TruncationStrategy strategy = TruncationStrategy::longest_first;
};

struct TextOffsets {
  std::uint32_t begin = 0, end = 0;
  friend bool operator==(const TextOffsets&, const TextOffsets&) = default;
};

// The result of encoding a text. Every vector except `overflowing` has one entry per token.
struct Encoding {
  std::vector<std::int32_t> ids;
  std::vector<std::string> tokens;  // tokens, spelled as in the vocabulary
  // [begin, end) in bytes of the text; (0, 0) for padding and for special tokens that are not in the text
  std::vector<TextOffsets> offsets;
  std::vector<TextOffsets> character_offsets;  // offsets in code points, as in Hugging Face's library
  std::vector<std::int32_t> types;    // 1 for the second text of a pair if the model has token types, else 0
  std::vector<std::uint8_t> special;  // for each token, 1 if it was added as a special token or as padding
  std::vector<std::uint8_t> attention_mask;  // for each position, 1 for a token and 0 for padding
  std::vector<std::int32_t> words;    // index of the token's word; −1 for padding and added special tokens
  std::vector<Encoding> overflowing;  // the parts of the text that were truncated
};

struct TextPair {
  std::string_view first;
  std::optional<std::string_view> second = std::nullopt;
};

// One division of a text into tokens, with its score.
struct Segmentation {
  double log_probability = 0.0;
  std::vector<std::int32_t> ids = {};
};

struct TokenizerTraining {
  std::string type = "byte-bpe";  // type of tokenizer: byte-bpe, bpe, wordpiece, unigram, word or char
  // maximum number of tokens, including special tokens and the alphabet; ignored for char
  std::int64_t vocabulary_size = 10000;
  // Minimum frequency of a merge, or of a word; ignored for unigram. Default: 2, or 1 for type word.
  std::optional<std::int64_t> min_frequency = std::nullopt;
  // rule that divides a text into words: words, gpt2, spaces, signs, bert or metaspace. Default: depends on
  // `type`
  std::string words = {};
  bool normalize = true;  // normalise to NFC; for wordpiece, apply BERT's text cleaning
  bool lower_case = false;
  bool end_token = false;      // encode() appends </s>
  bool byte_fallback = true;   // char, unigram: encode unknown characters as bytes instead of <unk>
  bool skip_bad_utf8 = false;  // skip lines that are not UTF-8; if false, throw bad_file with file and line
  // special tokens in the order of their ids
  std::vector<std::string> special_tokens = {"<pad>", "<unk>", "<s>", "</s>"};
  // Called on the thread of train() with the completed fraction and the name of the current phase. Return
  // false to cancel.
  std::function<bool(double share, std::string_view part)> progress = {};
};

// A handle to an immutable tokenizer; copies share it. Calls from several threads run in parallel, and
// results do not depend on the number of threads.
class REGARD_API Tokenizer {
 public:
  // Open a model folder, a run folder or a tokenizer file: tokenizer.json, vocab.txt, vocab.json with
  // merges.txt, .tiktoken or sentencepiece's .model. Throws io if a file cannot be read, and bad_file (with
  // file and location) if its content is invalid.
  explicit Tokenizer(const std::filesystem::path& path, TextSide side = TextSide::source);
  // Share the tokenizer of a model. Throws usage if the model has no tokenizer for `side`; a model that reads
  // images or sound has none for the source.
  explicit Tokenizer(const Model& model, TextSide side = TextSide::source);

  // Train on the lines of text files. Throws io if a file cannot be read, bad_file for a line that is not
  // UTF-8 (see skip_bad_utf8), usage if there are no files or options conflict, invalid_input for a special
  // token that is not UTF-8, and cancelled if `progress` returns false.
  static Tokenizer train(std::span<const std::filesystem::path> files, const TokenizerTraining& options = {});

  // Convert a text, or a pair of texts, to tokens. Throws usage if max_length or stride is negative, or if
  // max_length is above 0 but below the number of special tokens. Also throws usage if a text must be
  // truncated to n > 0 tokens (without special tokens) and stride is n or more. Throws invalid_input if the
  // text is not UTF-8 or cannot be truncated by the strategy.
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;
  Encoding encode(std::string_view first, std::string_view second, const EncodeOptions& options = {}) const;
  // Encode several texts on the threads of regard/threads.h and return the results in the order of `texts`.
  // If the tokenizer's file enables padding, all are padded to one length.
  std::vector<Encoding> encode(std::span<const TextPair> texts, const EncodeOptions& options = {}) const;
  // Return the ids of encode() without truncation and padding. Faster than encode(), because offsets, words
  // and masks are not computed.
  std::vector<std::int32_t> ids(std::string_view text, const EncodeOptions& options = {}) const;
  // Return at most `count` (1 to 1024) segmentations of a text by a unigram model, best first, without
  // special tokens. Throws usage for other models and for a `count` out of range.
  std::vector<Segmentation> best(std::string_view text, std::int64_t count) const;

  // Return the text of `ids`. Throws invalid_input for an id outside 0 to vocabulary_size() − 1.
  std::string decode(std::span<const std::int32_t> ids, bool skip_special = true) const;

  std::optional<std::int32_t> id_of(std::string_view token) const;
  std::string token_of(std::int32_t id) const;  // returns "" for an id without a token
  bool is_special(std::int32_t id) const;
  std::int64_t vocabulary_size() const;  // the largest id + 1: number of rows of an embedding
  std::string type() const;              // type of the model: "BPE", "WordPiece", "Unigram", …

  std::string json() const;  // the complete tokenizer in the format of tokenizer.json
  // Write the tokenizer to `file` in the format of tokenizer.json, atomically. Throws io.
  void save(const std::filesystem::path& file) const;

 private:
  friend class TokenStream;
  struct State;
  const State& state() const;
  explicit Tokenizer(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

// Decodes ids one at a time; text is withheld while its last character may be incomplete. Calls on one stream
// are serialised. A stream cannot be copied, and a moved-from stream throws usage.
class REGARD_API TokenStream {
 public:
  explicit TokenStream(const Tokenizer& tokenizer, bool skip_special = true);
  ~TokenStream();
  TokenStream(TokenStream&&) noexcept;
  TokenStream& operator=(TokenStream&&) noexcept;

  // Add an id and return the text that is now final: later ids cannot change it. The results of all calls and
  // of finish(), concatenated, are the text of all ids. Throws invalid_input for an id outside the
  // vocabulary.
  std::string push(std::int32_t id);
  std::string finish();  // return the remaining text and reset the stream

 private:
  struct State;
  State& state() const;
  std::unique_ptr<State> state_;
};

}  // namespace regard
