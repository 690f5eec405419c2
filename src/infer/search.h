// Decoding of token sequences from a model's logits: greedy search, beam search and sampling, with a
// key/value cache, many requests at once.
//
// The bit rule: the results of a request depend only on the request and its options, not on the other
// requests, their order or the number of threads. Random draws are keyed by options.seed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "infer/stop_strings.h"
#include "infer/token_rules.h"
#include "models/network.h"
#include "ops/probe.h"

namespace regard::infer {

// When a beam search stops, as Hugging Face's `early_stopping`.
enum class EarlyStopping {
  no,     // if the best running hypothesis, scored at its current length, is not above the worst finished one
  yes,    // as soon as `beam` hypotheses are finished
  never,  // as `no`, but scored at the maximum length if length_penalty > 0
};

constexpr std::int64_t kDefaultNew = 128;  // default maximum of new tokens after a prompt

struct SearchOptions {
  std::int64_t beam = 1;    // 1: greedy
  std::int64_t n_best = 1;  // hypotheses per request, best first; when sampling: independent draws
  // Maximum number of new tokens. 0: with an encoder of text 2 × source + 16, with another encoder
  // kDefaultNew, else given by max_length.
  std::int64_t max_new = 0;
  // Maximum number of tokens, prompt included; decoder-only models, if max_new is 0. 0: kDefaultNew new
  // tokens.
  std::int64_t max_length = 0;
  double length_penalty = 1.0;  // score = Σ log p / tokens^length_penalty
  EarlyStopping early_stopping = EarlyStopping::no;

  bool sample = false;
  double temperature = 1.0;
  std::int64_t top_k = 0;           // 0: all
  double top_p = 1.0;               // 1: all
  double min_p = 0.0;               // 0: all
  double typical_p = 1.0;           // 1: all
  double epsilon = 0.0, eta = 0.0;  // cut-offs of warp.h; 0: none
  std::uint64_t seed = 1;

  TokenRules rules;  // applied to the scores before a token is chosen

  std::int32_t start_token = -1;                    // the decoder's first token; encoder-decoder models only
  std::vector<std::int32_t> end_tokens;             // each of these ends a sequence
  std::shared_ptr<const StopStrings> stop_strings;  // each of these strings ends a sequence; null: none
  std::int32_t pad_token = -1;  // padding after ended sequences in a matrix of results; −1: none
  Probe* probe = nullptr;       // called in every pass, may ablate heads; not owned, may be null
  // Of greedy search and sampling: report each token to Listener::chosen() with this number of the most
  // probable tokens. −1: do not report.
  std::int64_t report_top = -1;
  std::int64_t rows_at_once = 256;  // rows decoded together, beams counted; affects speed and memory only

  void check() const;  // throws usage naming the invalid option
};

struct TokenScore {
  std::int32_t token = 0;
  float log_probability = 0.0f;  // under the model, before rules and warping
};

// A token that was generated, and the most probable ones at its place, best first; ties: lower id.
struct TokenChoice {
  TokenScore token;
  std::vector<TokenScore> top;
};

struct Hypothesis {
  std::vector<std::int32_t> tokens;  // generated tokens: without start token and prompt, with the end token
  float score = 0.0f;                // log_probability / tokens^length_penalty
  float log_probability = 0.0f;      // Σ log p under the model, before any warping
  bool ended = false;                // by an end token or a stop string, not by max_new
  bool stopped = false;              // by a stop string; the text may continue after it
  std::vector<float> token_log_probabilities;  // [tokens], the terms of log_probability
};

// Decode what the model reads: sources of an encoder–decoder (tokens, features or pixels), prompts of a
// decoder. Results and errors as translate().
std::vector<std::vector<Hypothesis>> decode(Network& model, ThreadPool& pool,
                                            std::span<const ModelInput> inputs, const SearchOptions& options);

// Translate the sources. Return one result per source, in order, each with up to n_best hypotheses. Throws
// usage (wrong kind of model, invalid options, empty sources, ids outside the vocabulary, sources longer than
// the model has positions), and numeric if the model's output is not finite. The caller must call
// prepare_for_inference() first.
std::vector<std::vector<Hypothesis>> translate(Network& model, ThreadPool& pool,
                                               std::span<const std::vector<std::int32_t>> sources,
                                               const SearchOptions& options);

// Continue prompts with a decoder-only model; results and errors as translate(). Prompts must not be empty.
// When a text reaches the model's maximum number of positions P, its last P / 2 tokens become the context.
std::vector<std::vector<Hypothesis>> generate(Network& model, ThreadPool& pool,
                                              std::span<const std::vector<std::int32_t>> prompts,
                                              const SearchOptions& options);

}  // namespace regard::infer
