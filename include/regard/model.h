// A trained model loaded from a folder: translation, generation and inspection of attention.
//
//   regard::Model model = regard::load("runs/demo");
//   std::string hindi = model.translate("The exam was a piece of cake.");
//   regard::Attention attention = model.attend("The exam was a piece of cake.", {.target = hindi});
//   regard::Tensor weights = attention.weights(regard::Kind::cross, 1, 0);  // [target, source]
//
// Errors are thrown as regard::Error; regard::attempt (regard/result.h) returns them as values.
//
// A moved-from Model or Attention can only be assigned to or destroyed; every other call throws usage and
// names the type.
//
// Files: weights are memory-mapped while a model uses them. To replace a model's files, rename new ones over
// them. If another process truncates or overwrites a mapped file, the system ends the program with SIGBUS or
// the weights change; the library cannot detect this. Weights, configurations and tokenizers are read from
// regular files only; anything else (a pipe, a device, a socket) throws io.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "regard/attention.h"
#include "regard/export.h"
#include "regard/tensor.h"

namespace regard {

namespace api {
struct ModelAccess;  // access to internals, for the library's other public functions
}
class Runner;    // defined in regard/run.h
class Sessions;  // defined in regard/session.h
struct SessionLimits;
struct SessionMemory;

// Options of text generation. The defaults of beam, max_new, length_penalty, min_new, n_best,
// repetition_penalty and no_repeat_ngram select the values in the model's folder.
struct DecodingOptions {
  std::int64_t beam = 0;         // beam width; 1 is greedy search
  std::int64_t max_new = 0;      // maximum number of new tokens
  double length_penalty = -1e9;  // score = Σ log p / tokens^length_penalty
  // If true, sample. If false, temperature, top_k, top_p, min_p and typical_p are ignored: a beam width above
  // 0 selects beam search, and 0 selects the method that the model's folder specifies (search or sampling).
  bool sample = false;
  double temperature = 1.0;
  std::int64_t top_k = 0;  // sample from the top_k most probable tokens; default: 0, all
  double top_p = 1.0;
  std::uint64_t seed = 1;  // seed of sampling
  // omit tokens whose probability is below min_p times the highest probability; default: 0, off
  double min_p = 0.0;
  double typical_p = 1.0;  // locally typical sampling (Meister et al. 2023); default: 1, off
  // The following options apply to both search and sampling.
  std::int64_t min_new = 0;  // minimum number of new tokens
  std::int64_t n_best = 0;   // number of results of write(): the best of the beam, or independent samples
  double repetition_penalty = 0.0;     // a value above 1 makes tokens that already occurred less likely
  std::int64_t no_repeat_ngram = 0;    // size in tokens of n-grams that must not repeat
  std::vector<std::string> stop = {};  // the text ends before the first occurrence of one of these strings
  std::vector<std::string> bad_words = {};  // words that are never generated
  // truncate texts longer than the model's maximum number of positions instead of throwing; ignored by
  // Sessions::join()
  bool truncate = false;
  // interventions applied in every forward pass (syntax: docs/looking.md); Sessions do not support them and
  // throw usage
  std::vector<std::string> interventions = {};
};

// One generated text.
struct Written {
  std::string text = {};
  double score = 0.0;            // log_probability / tokens^length_penalty
  double log_probability = 0.0;  // sum of the log-probabilities of the tokens under the model
  bool complete = false;  // true if ended by an end token or a stop string, false if cut off by max_new
  std::vector<std::string> tokens = {};        // tokens of the text, spelled as in the vocabulary
  std::vector<double> log_probabilities = {};  // log-probability of each token
};

struct WriteCallbacks {
  // Called after each step with the text that the step added to the first result. Text that later tokens may
  // still change is withheld: an incomplete character, or the possible beginning of a stop string. The
  // arguments of all calls, concatenated, are the text of the result. With beam search, called once, at the
  // end.
  std::function<void(std::string_view piece)> text = {};
  // Called before every step; return true to stop. The text generated so far is returned (complete is false),
  // or an empty list if there are no tokens yet.
  std::function<bool()> cancelled = {};
};

// Number format in which a loaded model computes; in each format, results are bit-identical for any number of
// threads and regardless of what else is in the batch. With bf16, weights, the operands of matrix products
// and of attention, and the key/value cache are rounded to bf16 (8 bits of precision); sums, softmax and
// norms are f32.
//
// bf16 requires a processor with AVX512_BF16 or AMX-BF16.
enum class Precision { f32, bf16 };

// Options of load().
struct LoadOptions {
  Precision precision = Precision::f32;
  // folder of a LoRA adapter (PEFT); if empty, the adapter in the model's folder is used, if there is one
  std::filesystem::path adapter = {};
  // code of the language whose adapter and labels are loaded, such as "hin"; only for wav2vec 2.0 folders
  // with an adapter per language (MMS)
  std::string language = {};
  std::string task = {};  // name in task_specific_params of config.json, such as "summarization"
};

// Called with the completed fraction of a long operation, from 0 to 1. Return false to cancel the operation.
using Progress = std::function<bool(double share)>;

struct Message {
  std::string role;  // "system", "user", "assistant", or another role of the model's template
  std::string content;
};

struct AttendOptions {
  std::string target = {};  // target text of an encoder–decoder; if empty, the model generates it
  std::vector<HeadName> ablated = {};  // heads whose output is multiplied by 0
  // Interventions applied in every forward pass (syntax: docs/looking.md), such as "zero cross.1.0" or
  // "patch decoder.2.residual text=…".
  std::vector<std::string> interventions = {};
};

// The attention weights of one forward pass over one input. Owns its data and may outlive the model.
class REGARD_API Attention {
 public:
  const std::string& text() const;
  // generated translation, or the given target; empty unless the model is an encoder–decoder
  const std::string& translation() const;
  const std::vector<std::string>& source_tokens() const;  // input of the encoder; empty if the model has none
  const std::vector<std::string>& target_tokens() const;  // input of the decoder; empty if the model has none
  // Return the token that the decoder predicts at each target position. These tokens are the row labels of
  // cross-attention.
  const std::vector<std::string>& written_tokens() const;

  std::int64_t layers(Kind kind) const;  // number of layers; 0 if the model has no attention of this kind
  std::int64_t heads(Kind kind, std::int64_t layer = 0) const;
  // Return the attention weights [queries, keys] of a head, f32. Each row sums to one unless an intervention
  // changes the weights. Throws usage if there is no such head.
  Tensor weights(Kind kind, std::int64_t layer, std::int64_t head) const;

  std::string json() const;  // all attention weights, in the format of `regard attend --json`
  // return the attention weights of one head as an SVG picture
  std::string svg(Kind kind, std::int64_t layer, std::int64_t head) const;
  std::string html() const;  // all attention weights as one self-contained HTML page

 private:
  friend class Model;
  friend class Runner;
  struct State;
  const State& state() const;
  explicit Attention(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

// A handle to a model; copies share the weights. A model runs on the threads of regard/threads.h, and forward
// passes of several threads are serialised. Results are bit-identical for any number of threads and
// regardless of what else is in the batch. Functions that generate text throw numeric if the model's output
// is not finite.
class REGARD_API Model {
 public:
  // Translate with an encoder–decoder; the translation of a blank text is empty. Throws usage if the model
  // does not translate or options are invalid; invalid_input if the text is not UTF-8 or is longer than the
  // model's maximum number of positions.
  std::string translate(std::string_view text, const DecodingOptions& options = {}) const;
  // Translate several texts in one batch. `progress` is called before each step with the fraction of the
  // texts that are completely translated. If it returns false, the incomplete translations are empty.
  std::vector<std::string> translate(std::span<const std::string> texts, const DecodingOptions& options = {},
                                     const Progress& progress = {}) const;

  // Return the continuation of a prompt by a decoder-only model. Throws as translate() does, and
  // invalid_input if the prompt has no tokens.
  std::string generate(std::string_view prompt, const DecodingOptions& options = {}) const;

  // Return options.n_best continuations of `text` by a decoder, or translations by an encoder–decoder, best
  // first. Throws usage if the model is an encoder or options are invalid; invalid_input if the text is not
  // UTF-8, has no tokens or is longer than the model's maximum number of positions.
  std::vector<Written> write(std::string_view text, const DecodingOptions& options = {},
                             const WriteCallbacks& callbacks = {}) const;
  // Return answers to a conversation by a decoder-only model. The conversation is formatted with a chat
  // template: `chat_template` is the name of a template in the model's folder, or chatml, gemma, llama2,
  // llama3, mistral, phi or zephyr. Default: the folder's default template. Throws as write() does. Also
  // throws usage if the model is not a decoder or the template does not exist, bad_file (with file and line)
  // if the template is invalid, and invalid_input if the template rejects the conversation.
  std::vector<Written> chat(std::span<const Message> conversation, const DecodingOptions& options = {},
                            const WriteCallbacks& callbacks = {}, std::string_view chat_template = {}) const;

  // Run one forward pass and return its attention weights. Recording the weights does not change the result
  // of the pass. Throws usage for a model that reads images or sound, for a target if the model is not an
  // encoder–decoder, and for invalid heads or interventions. Throws invalid_input if the text is not UTF-8 or
  // has no tokens.
  Attention attend(std::string_view text, const AttendOptions& options = {}) const;

  bool translates() const;  // true if the model has an encoder and a decoder
  bool generates() const;   // true if the model has only a decoder
  std::int64_t parameter_count() const;
  // message if the best checkpoint is damaged and another one was loaded; otherwise empty
  const std::string& warning() const;

 private:
  friend REGARD_API Model load(const std::filesystem::path& path, const Progress& progress,
                               const LoadOptions& options);
  friend class Sessions;
  friend struct api::ModelAccess;
  friend REGARD_API SessionMemory session_memory(const Model& model, const SessionLimits& limits);
  struct State;
  State& state() const;
  explicit Model(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

// Load a model from `path`: a run folder (its best checkpoint is loaded), a checkpoint of a run, or a Hugging
// Face folder. `progress` is called with the completed fraction of the bytes: first before the folder is
// opened, then after each matrix has been read and packed for the kernels. Throws bad_file and io with the
// file and the problem, and cancelled if `progress` returns false. Throws usage for Precision::bf16 if the
// processor has no bf16 instructions or the weights are int8, and for a task or language that the folder does
// not have. A training run does not remove the checkpoint while the model exists.
REGARD_API Model load(const std::filesystem::path& path, const Progress& progress,
                      const LoadOptions& options);
REGARD_API Model load(const std::filesystem::path& path, const Progress& progress = {},
                      Precision precision = Precision::f32);

// Convert the weights of the model in folder `from` to int8, and write the model to the new folder `to`. int8
// weights need about a quarter of the memory of f32 weights. load() and the other functions that take a model
// folder accept `to`; they then compute with int8 (docs/quantization.md). Throws as load() does; usage if
// `to` exists, numeric if weights are not finite.
REGARD_API void quantize(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace regard
