// Two models: WordPiece, which matches the longest token from the left (Schuster and Nakajima 2012, as in
// BERT), and WordLevel, which maps each word to one token.
#pragma once

#include <string>

#include "text/byte_trie.h"
#include "text/model.h"

namespace regard::text {

class WordPiece final : public VocabularyModel {
 public:
  struct Options {
    std::string unknown = "[UNK]";
    std::string continuing_prefix = "##";
    // maximum number of characters of a word; a longer word becomes the unknown token
    std::size_t max_characters = 100;
  };
  WordPiece(Vocabulary vocabulary, Options options);

  void tokenize(std::string_view word, std::vector<Token>& tokens) const override;
  Json to_json() const override;
  const char* type() const override { return "WordPiece"; }

 private:
  bool cut(std::string_view word, std::vector<Token>& tokens) const;
  Options options_;
  // first_: tokens that start words; continuing_: tokens inside words, without their prefix
  ByteTrie first_, continuing_;
};

class WordLevel final : public VocabularyModel {
 public:
  WordLevel(Vocabulary vocabulary, std::string unknown)
      : VocabularyModel(std::move(vocabulary)), unknown_(std::move(unknown)) {}

  void tokenize(std::string_view word, std::vector<Token>& tokens) const override;
  Json to_json() const override;
  const char* type() const override { return "WordLevel"; }

 private:
  std::string unknown_;
};

std::unique_ptr<Model> read_word_piece(const ModelSource& source);
std::unique_ptr<Model> read_word_level(const ModelSource& source);

}  // namespace regard::text
