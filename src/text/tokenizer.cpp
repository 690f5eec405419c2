#include "text/tokenizer.h"

#include <algorithm>
#include <iterator>

#include "base/file.h"
#include "base/utf8.h"
#include "text/added_tokens.h"
#include "text/decoders.h"
#include "text/model.h"
#include "text/normalizers.h"
#include "text/pieces.h"
#include "text/post_processors.h"
#include "text/pre_tokenizers.h"
#include "text/tokenizer_files.h"
#include "text/tokenizer_parts.h"

namespace regard::text {
namespace {

// Converts byte offsets to code-point offsets; an ill-formed sequence counts as one code point. Convert
// offsets in increasing order: a smaller offset restarts the count at the start of the text.
class CodePointCounter {
 public:
  explicit CodePointCounter(std::string_view text) : text_(text) {}
  std::uint32_t at(std::uint32_t byte) {
    if (byte < byte_) byte_ = count_ = 0;
    while (byte_ < byte && byte_ < text_.size()) {
      byte_ += static_cast<std::uint32_t>(utf8::decode(text_, byte_).size);
      ++count_;
    }
    return count_;
  }

 private:
  std::string_view text_;
  std::uint32_t byte_ = 0, count_ = 0;
};

// Convert JSON exceptions to bad_file. They occur if a component has an error that its reader does not check.
template <class Read>
auto blaming(const std::string& file, const Read& read) {
  try {
    return read();
  } catch (const Json::exception& error) {
    throw file_error(file, std::string("malformed component of the tokenizer: ") + error.what());
  }
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::~Tokenizer() = default;

std::shared_ptr<const Tokenizer> Tokenizer::from_json(const Json& json, const std::string& name) {
  return std::shared_ptr<const Tokenizer>(
      new Tokenizer(blaming(name, [&] { return Parts::read(json, name); })));
}

std::shared_ptr<const Tokenizer> Tokenizer::load(const std::filesystem::path& path, Language language) {
  return from_opened(open_tokenizer(path, language));
}

std::shared_ptr<const Tokenizer> Tokenizer::from_text(std::string text, const std::string& name) {
  return from_opened(read_tokenizer_json(std::move(text), name));
}

std::shared_ptr<const Tokenizer> Tokenizer::from_opened(TokenizerFile opened) {
  return std::shared_ptr<const Tokenizer>(new Tokenizer(blaming(opened.name, [&] {
    return opened.model ? Parts::assemble(std::move(opened.pipeline), std::move(opened.model), opened.name)
                        : Parts::read(opened.pipeline, opened.name);
  })));
}

void Tokenizer::Parts::cut(Pieces& pieces, bool match_special) const {
  added.extract(pieces, false, match_special);
  if (normalizer) pieces.normalize(*normalizer);
  added.extract(pieces, true, match_special);
  if (pre_tokenizer) pre_tokenizer->apply(pieces);
}

Encoding Tokenizer::encode_one(std::string_view text, std::int32_t type, const EncodeOptions& options) const {
  Pieces pieces(text, true);
  parts_->cut(pieces, options.match_special);
  Encoding encoding;
  CodePointCounter begins(text), ends(text);
  std::int32_t word_index = -1;
  const auto add = [&](std::int32_t id, std::string token, Offsets span) {
    encoding.push(id, std::move(token), type, false);
    encoding.words.back() = word_index;
    encoding.byte_offsets.back() = span;
    encoding.offsets.back() = {begins.at(span.begin), ends.at(span.end)};
  };
  std::vector<Token> tokens;
  for (const Piece& piece : pieces.list()) {
    const std::string_view word = pieces.text_of(piece);
    ++word_index;
    if (piece.token >= 0) {
      add(piece.token, std::string(word), pieces.span_of(piece.begin, piece.end));
      continue;
    }
    tokens.clear();
    parts_->model->tokenize(word, tokens);
    const auto most = static_cast<std::uint32_t>(word.size());
    for (const Token& token : tokens) {
      const std::uint32_t end = std::min(token.end, most), begin = std::min(token.begin, end);
      Offsets span{piece.origin, piece.origin};
      if (begin < end) {
        span = pieces.span_of(piece.begin + begin, piece.begin + end);
      } else if (begin < most) {  // an empty token gets the start position of the next token
        span.begin = span.end = pieces.span_of(piece.begin + begin, piece.begin + begin + 1).begin;
      }
      add(token.id, parts_->model->spelling(token, word), span);
    }
  }
  return encoding;
}

Encoding Tokenizer::finish(Encoding first, std::optional<Encoding> second,
                           const EncodeOptions& options) const {
  const PostProcessor* processor = parts_->post_processor.get();
  const std::optional<Truncation>& truncation =
      options.truncation || !options.as_file ? options.truncation : parts_->truncation;
  if (truncation) {
    Truncation how = *truncation;
    const std::size_t added =
        processor != nullptr && options.add_special ? processor->added(second.has_value()) : 0;
    if (added > how.max_length)
      throw usage_error("the truncation length is too small for the special tokens")
          .found(std::to_string(how.max_length))
          .expected("at least " + std::to_string(added));
    how.max_length -= added;
    truncate_pair(first, second ? &*second : nullptr, how);
  }
  std::vector<Encoding> parts;
  parts.push_back(std::move(first));
  if (second) parts.push_back(std::move(*second));
  if (processor != nullptr) processor->apply(parts, options.add_special);
  return parts.size() == 1 ? std::move(parts.front()) : join(parts);
}

Encoding Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  Encoding encoding = finish(encode_one(text, 0, options), std::nullopt, options);
  if (parts_->padding && options.as_file) pad(std::span(&encoding, 1), *parts_->padding);
  return encoding;
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                const EncodeOptions& options) const {
  Encoding encoding = finish(encode_one(first, 0, options), encode_one(second, 1, options), options);
  if (parts_->padding && options.as_file) pad(std::span(&encoding, 1), *parts_->padding);
  return encoding;
}

std::vector<Encoding> Tokenizer::encode_batch(std::span<const TextPair> texts, const EncodeOptions& options,
                                              ThreadPool* pool) const {
  std::vector<Encoding> encodings(texts.size());
  const auto one = [&](std::int64_t i, int) {
    const TextPair& text = texts[static_cast<std::size_t>(i)];
    std::optional<Encoding> second;
    if (text.second) second = encode_one(*text.second, 1, options);
    encodings[static_cast<std::size_t>(i)] =
        finish(encode_one(text.first, 0, options), std::move(second), options);
  };
  const auto count = static_cast<std::int64_t>(texts.size());
  if (pool != nullptr) {
    pool->parallel_for(count, one);
  } else {
    for (std::int64_t i = 0; i < count; ++i) one(i, 0);
  }
  if (parts_->padding && options.as_file) pad(encodings, *parts_->padding);
  return encodings;
}

std::vector<std::int32_t> Tokenizer::encode_ids(std::string_view text, const EncodeOptions& options) const {
  const IdsEncoder::Lease work(*parts_->ids_encoder);
  parts_->encode_ids(text, options, *work);
  const auto ids = work->ids.ids();
  return {ids.begin(), ids.end()};
}

std::vector<std::string_view> Tokenizer::parts_of(std::string_view text, std::size_t bytes,
                                                  bool match_special) const {
  return parts_->ids_encoder->parts_of(text, bytes, match_special);
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool skip_special) const {
  if (auto text = parts_->model->decode(ids)) return std::move(*text);
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (const std::int32_t id : ids) {
    const std::string* added = parts_->added.spelling(id);
    std::optional<std::string> token = added != nullptr ? *added : parts_->model->token_of(id);
    if (!token || (skip_special && parts_->added.is_special_content(*token))) continue;
    tokens.push_back(std::move(*token));
  }
  std::string text;
  if (parts_->decoder) {
    parts_->decoder->apply(tokens);
    for (const std::string& token : tokens) text.append(token);
  } else {
    for (std::size_t i = 0; i < tokens.size(); ++i) text.append(i > 0 ? " " : "").append(tokens[i]);
  }
  return text;
}

std::optional<std::int32_t> Tokenizer::id_of(std::string_view token) const {
  if (const AddedToken* added = parts_->added.by_content(token)) return added->id;
  return parts_->model->id_of(token);
}

std::string Tokenizer::token_of(std::int32_t id) const {
  if (const std::string* added = parts_->added.spelling(id)) return *added;
  return parts_->model->token_of(id).value_or("");
}

bool Tokenizer::is_special(std::int32_t id) const {
  const AddedToken* added = parts_->added.by_id(id);
  return added != nullptr ? added->special : parts_->model->is_control(id);
}

std::span<const std::int32_t> Tokenizer::before() const noexcept {
  return parts_->before;
}

std::span<const std::int32_t> Tokenizer::after() const noexcept {
  return parts_->after;
}

std::int64_t Tokenizer::vocabulary_size() const noexcept {
  std::int64_t end = parts_->model->end_id();
  for (const AddedToken& token : parts_->added.list()) end = std::max<std::int64_t>(end, token.id + 1);
  return end;
}

std::int64_t Tokenizer::token_count() const noexcept {
  auto count = static_cast<std::int64_t>(parts_->model->size());
  for (const AddedToken& token : parts_->added.list())
    if (!parts_->model->id_of(token.content)) ++count;
  return count;
}

const Json& Tokenizer::description() const noexcept {
  return parts_->description;
}

const char* Tokenizer::model_type() const noexcept {
  return parts_->model->type();
}

const std::optional<Truncation>& Tokenizer::truncation() const noexcept {
  return parts_->truncation;
}

const std::optional<Padding>& Tokenizer::padding() const noexcept {
  return parts_->padding;
}

Json Tokenizer::to_json() const {
  Json json = parts_->description;
  json["model"] = parts_->model->to_json();
  return json;
}

void Tokenizer::save(const std::filesystem::path& path) const {
  write_file_atomically(path, to_json().dump(2) + "\n");
}

std::string StreamDecoder::push(std::int32_t id) {
  ids_.push_back(id);
  return advance(false);
}

std::string StreamDecoder::finish() {
  return advance(true);
}

std::string StreamDecoder::advance(bool at_end) {
  constexpr std::size_t kHeldBack = 32;  // maximum number of ids whose text is withheld
  constexpr std::string_view kReplacement = "\uFFFD";
  std::string text = tokenizer_->decode(ids_, skip_special_);
  const bool waiting = !at_end && text.ends_with(kReplacement) && ids_.size() - shown_ids_ < kHeldBack;
  if (waiting || text.size() <= shown_.size()) return {};
  std::size_t begin = shown_.size();
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0u) == 0x80u) ++begin;
  // The text of the next token may depend on the preceding tokens, for example at the start of a word. Keep
  // the last tokens as context.
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(shown_ids_));
  shown_ids_ = ids_.size();
  shown_ = tokenizer_->decode(ids_, skip_special_);
  return text.substr(begin);
}

}  // namespace regard::text
