// Decoding of token sequences from a model's logits: greedy search, beam search and sampling, with a
// key/value cache, many requests at once.
//
// Bit rule (docs/architecture.md): the results of a request depend only on the request and its options, not
// on the other requests, their order or the number of threads.
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

// Rule that ends a beam search, like Hugging Face's `early_stopping`.
enum class EarlyStopping {
  // if there are `beam` finished hypotheses: stop if the worst of them scores at least as high as the best
  // running hypothesis at its current length
  no,
  yes,    // stop as soon as there are `beam` finished hypotheses
  never,  // like `no`, but the running hypothesis is scored at the maximum length if length_penalty > 0
};

constexpr std::int64_t kDefaultNew = 128;  // default maximum number of new tokens after a prompt

struct SearchOptions {
  std::int64_t beam = 1;  // number of beams; 1 means greedy search
  // Number of hypotheses per request. Beam search returns the best ones, best first; sampling returns
  // independent sequences in the order of their index.
  std::int64_t n_best = 1;
  // Maximum number of new tokens. Default: 0, whose meaning depends on the model. Text encoder: 2 × source
  // length + 16. Other encoder: kDefaultNew. Decoder-only: see max_length.
  std::int64_t max_new = 0;
  // Decoder-only models: maximum number of tokens of the prompt and the output together; used if max_new is
  // 0. If both are 0, the maximum is kDefaultNew new tokens.
  std::int64_t max_length = 0;
  double length_penalty = 1.0;  // score = Σ log p / tokens^length_penalty
  EarlyStopping early_stopping = EarlyStopping::no;

  bool sample = false;
  double temperature = 1.0;
  std::int64_t top_k = 0;  // number of most probable tokens to sample from; 0 keeps all tokens
  double top_p = 1.0;      // probability mass of nucleus sampling; 1 keeps all tokens
  double min_p = 0.0;      // minimum probability relative to the most probable token; 0 keeps all tokens
  double typical_p = 1.0;  // probability mass of typical sampling; 1 keeps all tokens
  double epsilon = 0.0, eta = 0.0;  // cut-offs epsilon and eta (see warp.h); 0 disables each
  std::uint64_t seed = 1;           // key of the random draws of sampling

  TokenRules rules;  // rules applied to the scores before a token is chosen

  std::int32_t start_token = -1;                    // first token of the decoder; for encoder–decoders only
  std::vector<std::int32_t> end_tokens;             // tokens that end a sequence
  std::shared_ptr<const StopStrings> stop_strings;  // strings that end a sequence; may be null
  // token id that pads ended sequences in a matrix of results; −1 if the model has no padding token
  std::int32_t pad_token = -1;
  Probe* probe = nullptr;  // called in every forward pass; may ablate attention heads; not owned; may be null
  // Number of most probable tokens that Listener::chosen() receives with each token, for greedy search and
  // sampling. −1: chosen() is not called.
  std::int64_t report_top = -1;
  // maximum number of rows decoded together, including those of beams; affects only speed and memory
  std::int64_t rows_at_once = 256;

  void check() const;  // throws usage that names the invalid option
};

struct TokenScore {
  std::int32_t token = 0;
  float log_probability = 0.0f;  // log-probability before warping; see TokenRules::scores_after_rules
};

// A generated token, and the most probable tokens at its position, best first. Equally probable tokens are
// ordered by id.
struct TokenChoice {
  TokenScore token;
  std::vector<TokenScore> top;
};

struct Hypothesis {
  std::vector<std::int32_t> tokens;  // generated tokens: without start token and prompt, with the end token
  float score = 0.0f;                // log_probability / tokens^length_penalty
  float log_probability = 0.0f;      // sum of the model's log-probabilities, before any warping
  bool ended = false;    // true if ended by an end token or a stop string; false if ended by max_new
  bool stopped = false;  // true if ended by a stop string; the tokens may contain text after the stop string
  std::vector<float> token_log_probabilities;  // log-probability of each token; their sum is log_probability
};

// Decode inputs of the kind that the model accepts: sources of an encoder–decoder (tokens, features or
// pixels), or prompts of a decoder. Results and errors: see translate().
std::vector<std::vector<Hypothesis>> decode(Network& model, ThreadPool& pool,
                                            std::span<const ModelInput> inputs, const SearchOptions& options);

// Translate the sources with an encoder–decoder for which prepare_for_inference() was called. Return one
// result per source, in order, each with up to n_best hypotheses. Throws usage for a model of another kind
// and for invalid options. Throws invalid_input if a source is empty, is longer than the model's number of
// positions, or has an id outside the vocabulary. Throws numeric if the model's output is not finite.
std::vector<std::vector<Hypothesis>> translate(Network& model, ThreadPool& pool,
                                               std::span<const std::vector<std::int32_t>> sources,
                                               const SearchOptions& options);

// Continue non-empty prompts with a decoder-only model. When a text reaches the model's maximum number of
// positions P, its last P / 2 tokens become the new context. Results and errors: see translate().
std::vector<std::vector<Hypothesis>> generate(Network& model, ThreadPool& pool,
                                              std::span<const std::vector<std::int32_t>> prompts,
                                              const SearchOptions& options);

}  // namespace regard::infer
