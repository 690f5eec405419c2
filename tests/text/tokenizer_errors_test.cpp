// Each error of a part of a tokenizer.json: its complete message.
#include <gtest/gtest.h>

#include "base/json.h"
#include "regard/error.h"
#include "support/throws.h"
#include "text/tokenizer.h"

namespace regard::text {
namespace {

std::shared_ptr<const Tokenizer> with(const std::string& part) {
  Json json{{"model", {{"type", "WordLevel"}, {"vocab", {{"a", 0}, {"b", 1}}}, {"unk_token", "b"}}}};
  json.update(Json::parse(part));
  return Tokenizer::from_json(json, "t.json");
}

struct WrongPart {
  std::string part, message;  // the message after the name of the file
};

void check_parts(const std::vector<WrongPart>& mistakes) {
  for (const WrongPart& one : mistakes) {
    SCOPED_TRACE(one.part);
    testing::expect_error_text(ErrorKind::bad_file, "t.json: " + one.message, [&] { with(one.part); });
  }
}

TEST(TokenizerErrors, TruncationAndPadding) {
  check_parts({
      {R"({"truncation": {"max_length": 4, "direction": "Up"}})",
       "unknown direction of truncation or padding (expected Left or Right, found Up)"},
      {R"({"truncation": {"max_length": 4, "strategy": "Both"}})",
       "unknown truncation strategy (expected LongestFirst, OnlyFirst or OnlySecond, found Both)"},
      {R"({"truncation": {"max_length": -1}})",
       R"("max_length" has the wrong type or value (expected a non-negative integer, found the number -1))"},
      {R"({"truncation": {"stride": 1}})", R"(the key "max_length" is missing)"},
      {R"({"padding": {"strategy": "All"}})",
       R"(unknown padding strategy (expected BatchLongest or Fixed, found the string "All"))"},
      {R"({"padding": {"strategy": {"Fixed": -1}}})",
       R"("Fixed" has the wrong type or value (expected a non-negative integer, found the number -1))"},
      {R"({"padding": {"strategy": "BatchLongest", "direction": "up"}})",
       "unknown direction of truncation or padding (expected Left or Right, found up)"},
      {R"({"padding": {"strategy": "BatchLongest", "pad_id": 0}})", R"(the key "pad_token" is missing)"},
  });
}

TEST(TokenizerErrors, PostProcessors) {
  check_parts({
      {R"({"post_processor": {"type": "Telepathy"}})",
       "unsupported type of post-processor (found Telepathy). Use a tokenizer without this post-processor, "
       "or a newer version of regard"},
      {R"({"post_processor": {"type": "BertProcessing", "cls": ["x", 1], "sep": ["y"]}})",
       "expected 'sep' to be a token and its id (expected [TOKEN, ID], found an array)"},
      {R"({"post_processor": {"type": "BertProcessing", "cls": {"x": 1, "y": 2}, "sep": ["y", 1]}})",
       "expected 'cls' to be a token and its id (expected [TOKEN, ID], found an object)"},
      {R"({"post_processor": {"type": "BertProcessing", "cls": ["x", "y"], "sep": ["y", 1]}})",
       R"("cls" has the wrong type or value (expected an integer, found the string "y"))"},
      {R"({"post_processor": {"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": )"
       R"({"X": {"ids": [1], "tokens": []}}}})",
       "special token 'X': the numbers of ids and tokens differ (expected equal numbers, found 1 ids and 0 "
       "tokens)"},
      {R"({"post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "B", )"
       R"("type_id": 0}}], "pair": []}})",
       R"(the template "single" refers to a second text (expected "A", found "B"))"},
      {R"({"post_processor": {"type": "TemplateProcessing", "single": {"A": 1}, "pair": []}})",
       "a template is not a list (expected a list, found an object)"},
      {R"({"post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "C", )"
       R"("type_id": 0}}], "pair": []}})",
       R"(a template refers to an unknown text (expected "A" (the first text) or "B" (the second), )"
       R"(found "C"))"},
      {R"({"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "X", )"
       R"("type_id": 0}}], "pair": []}})",
       R"(a template uses a special token that it does not define (expected a token that is listed in )"
       R"(special_tokens, found "X"))"},
      {R"({"post_processor": {"type": "TemplateProcessing", "single": [{"Other": 1}], "pair": []}})",
       "expected a Sequence or a SpecialToken as entry of a template (found an object)"},
      {R"({"post_processor": {"type": "TemplateProcessing", "single": [], "pair": []}})",
       R"(the post-processor does not keep a text exactly once. List "A" once in the template "single")"},
  });
}

TEST(TokenizerErrors, PreTokenizers) {
  check_parts({
      {R"({"pre_tokenizer": {"type": "Telepathy"}})",
       "unsupported type of pre-tokenizer (found Telepathy). Use a tokenizer without this pre-tokenizer, or "
       "a newer version of regard"},
      {R"({"pre_tokenizer": {"type": "Metaspace", "replacement": "ab"}})",
       "expected 'replacement' to be one character (found ab)"},
      {R"({"pre_tokenizer": {"type": "Metaspace", "replacement": ""}})",
       "expected 'replacement' to be one character"},
      {R"({"pre_tokenizer": {"type": "Metaspace", "prepend_scheme": "last"}})",
       "unknown prepend_scheme (expected always, first or never, found last)"},
      {R"({"pre_tokenizer": {"type": "CharDelimiterSplit", "delimiter": "ab"}})",
       "expected 'delimiter' to be one character (found ab)"},
      {R"({"pre_tokenizer": {"type": "FixedLength", "length": 0}})",
       R"("length" is out of range (expected a value from 1 to 1073741824, found the number 0))"},
      {R"({"pre_tokenizer": {"type": "FixedLength", "length": 1073741825}})",
       R"("length" is out of range (expected a value from 1 to 1073741824, found the number 1073741825))"},
      {R"({"pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "Kept"}})",
       "unknown split behavior (expected Removed, Isolated, MergedWithPrevious, MergedWithNext or "
       "Contiguous, found Kept)"},
      {R"({"pre_tokenizer": {"type": "Split", "pattern": 3, "behavior": "Removed"}})",
       "expected a String or a Regex as pattern (found the number 3)"},
      {R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "a("}, "behavior": "Removed"}})",
       "the pattern cannot be compiled: missing closing parenthesis (found a(). Correct the pattern near "
       "byte 2"},
  });
}

TEST(TokenizerErrors, NormalizersAndDecoders) {
  check_parts({
      {R"({"normalizer": {"type": "Telepathy"}})",
       "unsupported type of normalizer (found Telepathy). Use a tokenizer without this normalizer, or a "
       "newer version of regard"},
      {R"({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAA"}})",
       "precompiled_charsmap is not valid base64"},
      {R"({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "CAAA"}})",
       "precompiled_charsmap is damaged: wrong size of the trie (expected a positive multiple of 4 that fits "
       "into the data, found 0 in 3 bytes)"},
      {R"({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "CAAAAA=="}})",
       "precompiled_charsmap is damaged: wrong size of the trie (expected a positive multiple of 4 that fits "
       "into the data, found 8 in 4 bytes)"},
      {R"({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAAAAAAAAA="}})",
       "precompiled_charsmap is damaged: wrong size of the trie (expected a positive multiple of 4 that fits "
       "into the data, found 0 in 8 bytes)"},
      {R"({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "BQAAAAAAAAAAAAAA"}})",
       "precompiled_charsmap is damaged: wrong size of the trie (expected a positive multiple of 4 that fits "
       "into the data, found 5 in 12 bytes)"},
      {R"({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "CAAAAAAAAAAA"}})",
       "precompiled_charsmap is damaged: wrong size of the trie (expected a positive multiple of 4 that fits "
       "into the data, found 8 in 9 bytes)"},
      {R"({"decoder": {"type": "Telepathy"}})",
       "unsupported type of decoder (found Telepathy). Use a tokenizer without this decoder, or a newer "
       "version of regard"},
      {R"({"decoder": {"type": "Strip", "start": -1, "stop": 0}})",
       R"("start" has the wrong type or value (expected a non-negative integer, found the number -1))"},
  });
}

TEST(TokenizerErrors, TokensAndModels) {
  check_parts({
      {R"({"added_tokens": [{"id": -1, "content": "x"}]})",
       R"("id" is out of range (expected a value from 0 to 67108864, found the number -1))"},
      {R"({"added_tokens": [{"id": 2147483647, "content": "x"}]})",
       R"("id" is out of range (expected a value from 0 to 67108864, found the number 2147483647))"},
      {R"({"model": {"type": "Telepathy"}})",
       "unknown tokenizer model (expected BPE, Unigram, WordPiece, WordLevel, SentencePiece or Marian, found "
       "Telepathy). Use a tokenizer with one of these models"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"], ["a", )"
       R"("c"]]}})",
       "a merge has a token that is not in the vocabulary (found 'c' in merge 1)"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["b", "a"]]}})",
       "a merge has a token that is not in the vocabulary (found 'ba' in merge 0)"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["ab"]}})",
       R"(expected two tokens in merge 0 (found the string "ab"))"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b", "a b c"]}})",
       R"(expected two tokens in merge 1 (found the string "a b c"))"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": {"a": "b"}}})",
       "expected model.merges to be an array (found an object)"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}}})",
       "expected model.merges to be an array (found no such key)"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.5}})",
       "BPE dropout is not supported (expected null or 0, found model.dropout the number 0.5). Set "
       "model.dropout to null"},
      {R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]], )"
       R"("continuing_subword_prefix": "##"}})",
       "the right side of a merge lacks the continuing prefix (expected a token that starts with '##', found "
       "'b')"},
      {R"({"model": {"type": "BPE", "vocab": ["a"], "merges": []}})",
       "expected model.vocab to be an object that maps tokens to ids (found an array)"},
      {R"({"model": {"type": "BPE", "merges": []}})",
       "expected model.vocab to be an object that maps tokens to ids (found no such key)"},
      {R"({"model": {"type": "WordLevel", "vocab": {"a": -1}}})",
       "the id of token 'a' is out of range (expected an id from 0 to 67108864, found -1)"},
      {R"({"model": {"type": "WordLevel", "vocab": {"a": 1.0}}})",
       "expected an integer as id of token 'a' (found the number 1.0)"},
      {R"({"model": {"type": "Unigram", "vocab": [["a", 0.0]], "unk_id": -1}})",
       "unk_id is not the id of a piece (expected an id from 0 to 0, found -1)"},
      {R"({"model": {"type": "Unigram", "vocab": [["a", 0.0]], "unk_id": 1}})",
       "unk_id is not the id of a piece (expected an id from 0 to 0, found 1)"},
      {R"({"model": {"type": "Unigram", "vocab": {"a": 0.0}}})",
       "expected model.vocab of a Unigram model to be an array of [PIECE, SCORE] (found an object)"},
      {R"({"model": {"type": "Unigram"}})",
       "expected model.vocab of a Unigram model to be an array of [PIECE, SCORE] (found no such key)"},
      {R"({"model": {"type": "Unigram", "vocab": [["a", 0.0], ["b"]]}})",
       "expected [PIECE, SCORE] as entry 1 of model.vocab (found an array)"},
      {R"({"model": {"type": "Unigram", "vocab": [["a", 0.0], [1, 0.0]]}})",
       "expected [PIECE, SCORE] as entry 1 of model.vocab (found an array)"},
      {R"({"model": {"type": "Unigram", "vocab": [["a", "b"]]}})",
       "expected [PIECE, SCORE] as entry 0 of model.vocab (found an array)"},
      {R"({"model": {"type": "WordLevel", "vocab": {"a": 67108865}}})",
       "the id of token 'a' is out of range (expected an id from 0 to 67108864, found 67108865)"},
  });
}

TEST(TokenizerErrors, UnknownTextWithoutAnUnknownToken) {
  const std::vector<WrongPart> mistakes{
      {R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "unk_token": "u"}})",
       "the tokenizer's unknown token is not in its vocabulary (found u). Add the token to model.vocab, or "
       "set model.unk_token to null"},
      {R"({"model": {"type": "Unigram", "vocab": [["a", 0.0]]}})",
       "the text has an unknown piece and the tokenizer has no unk_id (found 'c'). Set model.unk_id, or "
       "remove the piece from the text"},
      {R"({"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "u"}})",
       "the text has an unknown word and the vocabulary has no unknown token (expected the token u)"},
      {R"({"model": {"type": "WordPiece", "vocab": {"a": 0}}})",
       "the text has an unknown word and the vocabulary has no unknown token (expected the token [UNK])"},
  };
  for (const WrongPart& one : mistakes) {
    const auto tokenizer = with(one.part);
    EXPECT_EQ(tokenizer->encode("a").ids, std::vector<std::int32_t>{0}) << one.part;
    SCOPED_TRACE(one.part);
    testing::expect_error_text(ErrorKind::bad_file, one.message, [&] { tokenizer->encode("c"); });
    testing::expect_error_text(ErrorKind::bad_file, one.message, [&] { tokenizer->encode_ids("c"); });
  }
}

}  // namespace
}  // namespace regard::text
