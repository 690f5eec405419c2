#include "text/word_models.h"

#include "base/utf8.h"

namespace regard::text {
namespace {

std::int32_t required(const Vocabulary& vocabulary, const std::string& unknown) {
  if (const auto id = vocabulary.find(unknown)) return *id;
  throw Error(ErrorKind::bad_file, "the text has an unknown word and the vocabulary has no unknown token")
      .expected("the token " + unknown);
}

}  // namespace

WordPiece::WordPiece(Vocabulary vocabulary, Options options)
    : VocabularyModel(std::move(vocabulary)), options_(std::move(options)) {
  std::vector<TokenView> first, continuing;
  vocabulary_.for_each([&](std::string_view token, std::int32_t id) {
    first.push_back({token, id});
    if (token.starts_with(options_.continuing_prefix))
      continuing.push_back({token.substr(options_.continuing_prefix.size()), id});
  });
  first_ = ByteTrie(first);
  continuing_ = ByteTrie(continuing);
}

// Append the longest token at each position; return false if no token matches. A match never ends inside a
// code point, because such a token is invalid UTF-8, but words are valid UTF-8.
bool WordPiece::cut(std::string_view word, std::vector<Token>& tokens) const {
  for (std::size_t begin = 0; begin < word.size();) {
    const auto [size, id] = (begin == 0 ? first_ : continuing_).longest(word.substr(begin));
    if (size == 0) return false;
    tokens.push_back({id, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(begin + size)});
    begin += size;
  }
  return true;
}

void WordPiece::tokenize(std::string_view word, std::vector<Token>& tokens) const {
  const std::size_t before = tokens.size();
  if ((word.size() <= options_.max_characters || utf8::count(word) <= options_.max_characters) &&
      cut(word, tokens))
    return;
  tokens.resize(before);
  tokens.push_back({required(vocabulary_, options_.unknown), 0, static_cast<std::uint32_t>(word.size())});
}

Json WordPiece::to_json() const {
  return {{"type", "WordPiece"},
          {"unk_token", options_.unknown},
          {"continuing_subword_prefix", options_.continuing_prefix},
          {"max_input_chars_per_word", options_.max_characters},
          {"vocab", write_vocabulary(vocabulary_)}};
}

void WordLevel::tokenize(std::string_view word, std::vector<Token>& tokens) const {
  const auto id = vocabulary_.find(word);
  tokens.push_back({id ? *id : required(vocabulary_, unknown_), 0, static_cast<std::uint32_t>(word.size())});
}

Json WordLevel::to_json() const {
  return {{"type", "WordLevel"}, {"vocab", write_vocabulary(vocabulary_)}, {"unk_token", unknown_}};
}

std::unique_ptr<Model> read_word_piece(const ModelSource& source) {
  const Json& json = source.settings();
  const std::string& file = source.file();
  WordPiece::Options options;
  options.unknown = optional_value<std::string>(json, "unk_token", file).value_or(options.unknown);
  options.continuing_prefix = optional_value<std::string>(json, "continuing_subword_prefix", file)
                                  .value_or(options.continuing_prefix);
  options.max_characters =
      optional_value<std::uint32_t>(json, "max_input_chars_per_word", file).value_or(100);
  return std::make_unique<WordPiece>(read_vocabulary(source), std::move(options));
}

std::unique_ptr<Model> read_word_level(const ModelSource& source) {
  const Json& json = source.settings();
  const std::string& file = source.file();
  return std::make_unique<WordLevel>(read_vocabulary(source),
                                     optional_value<std::string>(json, "unk_token", file).value_or("[UNK]"));
}

}  // namespace regard::text
