// Text generation for one request, streamed or complete.
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

// Search and output settings of a generation. The search options are the request's.
struct GenerationPlan {
  std::shared_ptr<ModelHost> host;
  infer::SearchOptions search;
  ModelInput input;
  std::int64_t copies = 1;    // number of results; greedy search computes one and repeats it
  bool token_scores = false;  // keep the scores of the chosen tokens and their alternatives
};

// One result.
struct GeneratedText {
  std::string text;
  infer::Hypothesis hypothesis;
  std::vector<infer::TokenChoice> choices;  // with token_scores: one entry for each token of the hypothesis
};

struct StreamedPiece {
  std::int64_t index = 0;  // index of the result
  std::string text;        // empty while a character or a possible stop string is incomplete
  const infer::TokenChoice* choice = nullptr;  // set only with token_scores
};

// A generation of at most ServeOptions::most_new_tokens tokens for each result. It ends early if the client
// disconnects, the deadline is reached or this object is destroyed.
class TextGeneration {
 public:
  TextGeneration(Call& call, GenerationPlan plan);
  ~TextGeneration();
  TextGeneration(const TextGeneration&) = delete;
  TextGeneration& operator=(const TextGeneration&) = delete;

  // Wait for the results. `piece`, if given, is called for each token of each result; it returns false to
  // stop. Throws as Generation does.
  std::vector<GeneratedText> run(const std::function<bool(const StreamedPiece&)>& piece = {});

  // the prompt of a decoder-only model
  std::span<const std::int32_t> prompt() const { return prompt_; }
  std::int64_t prompt_tokens() const { return prompt_tokens_; }  // tokens of the prompt or source

 private:
  bool take(const Generation::Token& token, const std::function<bool(const StreamedPiece&)>& piece);

  Call& call_;
  GenerationPlan plan_;
  std::shared_ptr<const infer::SearchOptions> search_;
  std::vector<std::int32_t> prompt_;
  std::int64_t prompt_tokens_ = 0;
  bool streams_tokens_ = false;
  std::vector<infer::TextStream> streams_;                // one stream for each result
  std::vector<std::vector<infer::TokenChoice>> choices_;  // one list for each result
  std::shared_ptr<Generator> generator_;
  std::shared_ptr<Generation> generation_;
};

// Return the number of tokens of a result, without the end token.
std::size_t shown_tokens(const GeneratedText& text, const infer::SearchOptions& search);

// Return the part of the text that token `next` adds after the tokens `before`.
std::string token_text(const text::Tokenizer& tokenizer, std::span<const std::int32_t> before,
                       std::int32_t next);

// Return the maximum number of new tokens: `wanted` (0: not given), limited by the server's maximum, the
// model's positions and the size of the key/value cache.
std::int64_t bounded_new_tokens(const Call& call, const ModelHost& host, const ModelInput& input,
                                std::int64_t wanted, std::int64_t rows);

}  // namespace regard::serve
