// Text generation for one request, either streamed or returned when complete.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "infer/text_stream.h"
#include "serve/generator.h"
#include "serve/route.h"

namespace regard::serve {

// Input, search options and output settings of a generation.
struct GenerationPlan {
  std::shared_ptr<ModelHost> host;
  infer::SearchOptions search;
  ModelInput input;
  std::int64_t copies = 1;    // number of results; a greedy search runs once, and its result is copied
  bool token_scores = false;  // keep the scores of chosen tokens and alternatives
};

// One result of a generation.
struct GeneratedText {
  std::string text;
  infer::Hypothesis hypothesis;
  // the chosen token at each position, with its alternatives; empty unless token_scores is set
  std::vector<infer::TokenChoice> choices;
};

struct StreamedPiece {
  std::int64_t index = 0;  // index of the result
  std::string text;        // new text; empty while a character or a possible stop string is incomplete
  // the token with its alternatives; null if token_scores is not set, or for text that remains at the end
  const infer::TokenChoice* choice = nullptr;
};

// A generation of at most ServeOptions::most_new_tokens tokens for each result. It is cancelled if the client
// disconnects, the deadline is reached or this object is destroyed.
class TextGeneration {
 public:
  TextGeneration(Call& call, GenerationPlan plan);
  ~TextGeneration();
  TextGeneration(const TextGeneration&) = delete;
  TextGeneration& operator=(const TextGeneration&) = delete;

  // Wait for the results. If `piece` is given, it is called for each token of each result, and for text that
  // remains at the end. If it returns false, the generation stops and run() throws HttpError 503. Also throws
  // the errors of Generation.
  std::vector<GeneratedText> run(const std::function<bool(const StreamedPiece&)>& piece = {});

  // the token ids of a decoder-only model's prompt
  std::span<const std::int32_t> prompt() const { return prompt_; }
  std::int64_t prompt_tokens() const { return prompt_tokens_; }  // number of tokens of the prompt or source

 private:
  bool take(const Generation::Token& token, const std::function<bool(const StreamedPiece&)>& piece);

  Call& call_;
  GenerationPlan plan_;
  std::shared_ptr<const infer::SearchOptions> search_;
  std::vector<std::int32_t> prompt_;
  std::int64_t prompt_tokens_ = 0;
  bool streams_tokens_ = false;
  std::vector<infer::TextStream> streams_;                // one text stream for each result
  std::vector<std::vector<infer::TokenChoice>> choices_;  // one list of choices for each result
  std::shared_ptr<Generator> generator_;
  std::shared_ptr<Generation> generation_;
  std::shared_ptr<const void> cancels_;  // cancels the generation when the client disconnects
};

// Return the number of tokens of a result, without the end token.
std::size_t shown_tokens(const GeneratedText& text, const infer::SearchOptions& search);

// Return the text that token `next` adds after the tokens `before`.
std::string token_text(const text::Tokenizer& tokenizer, std::span<const std::int32_t> before,
                       std::int32_t next);

// Return the maximum number of new tokens: `wanted` (0 means not given), limited by the server's maximum, the
// model's positions and the size of the key/value cache.
std::int64_t bounded_new_tokens(const Call& call, const ModelHost& host, const ModelInput& input,
                                std::int64_t wanted, std::int64_t rows);

}  // namespace regard::serve
