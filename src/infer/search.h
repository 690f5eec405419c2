// Decoding: from a model's logits to token sequences. Greedy, beam search and sampling, over a key/value
// cache, many requests at once.
//
// The bit rule: what a request gives depends on the request and the options only, never on the requests
// beside it, their order, or the number of threads. Random draws are keyed by the request's seed.
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

// When a beam search stops, as Hugging Face's `early_stopping` has it.
enum class EarlyStopping {
  no,   // when the best running hypothesis, scored at its present length, cannot pass the worst finished one
  yes,  // as soon as there are `beam` finished ones
  never,  // when no running one could pass even at the most favourable length
};

constexpr std::int64_t kDefaultNew = 128;  // tokens at most behind a prompt where nothing is said

struct SearchOptions {
  std::int64_t beam = 1;        // 1: greedy
  std::int64_t n_best = 1;      // hypotheses returned a request, best first; with sampling: independent draws
  std::int64_t max_new = 0;     // tokens at most; 0: 2 × source + 16 where there is an encoder, else 128
  std::int64_t max_length = 0;  // of decoders alone where max_new is 0: the same with the prompt; 0: no limit
  double length_penalty = 1.0;  // score = Σ log p / tokens^length_penalty
  EarlyStopping early_stopping = EarlyStopping::no;

  bool sample = false;
  double temperature = 1.0;
  std::int64_t top_k = 0;           // 0: all
  double top_p = 1.0;               // 1: all
  double min_p = 0.0;               // 0: all
  double typical_p = 1.0;           // 1: all
  double epsilon = 0.0, eta = 0.0;  // cut-offs; 0: none
  std::uint64_t seed = 1;

  TokenRules rules;  // before a token is chosen

  std::int32_t start_token = -1;                    // the decoder's first, where there is an encoder
  std::vector<std::int32_t> end_tokens;             // each ends a sequence
  std::shared_ptr<const StopStrings> stop_strings;  // so does each of these; null: none
  std::int32_t pad_token = -1;      // fills what has ended where results stand in one matrix; −1: none
  Probe* probe = nullptr;           // hears every pass and may ablate heads; not owned, may be null
  std::int64_t rows_at_once = 256;  // sequences decoded together, beams counted: speed and memory only

  void check() const;  // throws usage naming the option that does not fit
};

struct Hypothesis {
  std::vector<std::int32_t> tokens;  // generated: without start token and prompt, with the end token
  float score = 0.0f;                // log_probability / tokens^length_penalty
  float log_probability = 0.0f;      // Σ log p under the model, before any warping
  bool ended = false;                // by an end token or a stop string, not by max_new
  bool stopped = false;              // by a stop string, which its text may go beyond
  std::vector<float> token_log_probabilities;  // the parts of log_probability
};

// One result a source, in the order of the sources, each with up to n_best hypotheses. Throws usage (options,
// ids outside the vocabulary, sources longer than the model has positions), numeric where the model gives no
// finite probabilities. prepare_for_inference() is the caller's to call.
std::vector<std::vector<Hypothesis>> translate(Network& model, ThreadPool& pool,
                                               std::span<const std::vector<std::int32_t>> sources,
                                               const SearchOptions& options);

// Continuations of prompts by a decoder-only model; a prompt is never empty. Where the model's positions run
// out, decoding goes on with the latter half of them as context.
std::vector<std::vector<Hypothesis>> generate(Network& model, ThreadPool& pool,
                                              std::span<const std::vector<std::int32_t>> prompts,
                                              const SearchOptions& options);

}  // namespace regard::infer
