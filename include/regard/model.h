// A trained model from a folder: ask it, and look inside it.
//
//   regard::Model model = regard::load("runs/demo");
//   std::string hindi = model.translate("The exam was a piece of cake.");
//   regard::Attention attention = model.attend("The exam was a piece of cake.", {.target = hindi});
//   regard::Tensor weights = attention.weights(regard::Kind::cross, 1, 0);  // [target, source]
//
// Errors are thrown as regard::Error; regard::attempt (regard/result.h) makes values of them.
//
// A Model or Attention that was moved from is empty: it can be assigned to or destroyed, everything else
// throws usage and names the type.
//
// Files: weights are mapped, not copied, as long as a model uses them. Replace a model's files by renaming
// new ones over them. Where another process shortens or overwrites a mapped file, the system ends the program
// with SIGBUS, or the numbers change: no library can catch that. Weights, configurations and tokenizers are
// read from regular files only; anything else (a pipe, a device, a socket) is refused with io.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "regard/tensor.h"

namespace regard {

// Whose attention: the encoder to itself, the decoder to itself, the decoder to the encoder's output.
enum class Kind : std::uint8_t { encoder, decoder, cross };

struct HeadName {
  Kind kind = Kind::encoder;
  std::int64_t layer = 0, head = 0;  // from 0
};

namespace api {
struct ModelAccess;  // of the library's other public parts
}
class Sessions;  // regard/session.h
struct SessionLimits;
struct SessionMemory;

// What is not set (0, or negative where 0 means something) is as the model's folder has it.
struct DecodingOptions {
  std::int64_t beam = 0;         // width of the beam; 1: greedy
  std::int64_t max_new = 0;      // tokens at most
  double length_penalty = -1e9;  // score = Σ log p / tokens^length_penalty
  bool sample = false;           // draw instead of search; the options below count then
  double temperature = 1.0;
  std::int64_t top_k = 0;  // 0: all
  double top_p = 1.0;
  std::uint64_t seed = 1;
  double min_p = 0.0;      // 0: all
  double typical_p = 1.0;  // 1: all
  // These count for every search.
  std::int64_t min_new = 0;         // tokens at least
  std::int64_t n_best = 0;          // texts that write() gives: of a beam the best ones, or independent draws
  double repetition_penalty = 0.0;  // > 1: tokens that were there become less likely
  std::int64_t no_repeat_ngram = 0;         // no n tokens in a row twice
  std::vector<std::string> stop = {};       // a text ends before the first of them
  std::vector<std::string> bad_words = {};  // never written
  bool truncate = false;  // texts longer than the model has positions are cut, instead of refused
};

// One text that a model wrote.
struct Written {
  std::string text = {};
  double score = 0.0;                          // log_probability / tokens^length_penalty
  double log_probability = 0.0;                // Σ log p under the model, as the search adds it up
  bool complete = false;                       // the model ended it, or a stop string did; else max_new did
  std::vector<std::string> tokens = {};        // as the vocabulary spells them
  std::vector<double> log_probabilities = {};  // of each
};

struct WriteCallbacks {
  // What the first text has gained since the last call, never half a character; joined, the pieces are its
  // text. A beam changes its mind, so it gives one piece, at the end.
  std::function<void(std::string_view piece)> text = {};
  // Asked before every step; true ends the work. What was written until then is returned (complete is false);
  // nothing where that is no token.
  std::function<bool()> cancelled = {};
};

// Told how much of a long piece of work is done, from 0 to 1. False gives it up.
using Progress = std::function<bool(double share)>;

struct Message {
  std::string role;  // "system", "user", "assistant", or what the model's template knows
  std::string content;
};

struct AttendOptions {
  std::string target = {};             // encoder–decoders: what was written; empty: what the model writes
  std::vector<HeadName> ablated = {};  // heads whose output is multiplied with 0
};

// The attention of one pass over one text: every weight of every head. Holds its numbers itself, and may
// outlive the model.
class Attention {
 public:
  const std::string& text() const;
  const std::string& translation() const;                 // empty unless the model translates
  const std::vector<std::string>& source_tokens() const;  // what the encoder reads; empty without one
  const std::vector<std::string>& target_tokens() const;  // what the decoder reads; empty without one
  // What each place of the target goes on to write: the rows of cross-attention.
  const std::vector<std::string>& written_tokens() const;

  std::int64_t layers(Kind kind) const;  // 0: the model has no attention of this kind
  std::int64_t heads(Kind kind, std::int64_t layer = 0) const;
  // [queries, keys], f32; each row sums to one. Throws usage naming what there is.
  Tensor weights(Kind kind, std::int64_t layer, std::int64_t head) const;

  std::string json() const;  // all of it, as `regard attend --json` writes it
  std::string svg(Kind kind, std::int64_t layer, std::int64_t head) const;  // one head as a picture
  std::string html() const;  // all of it as one self-contained page

 private:
  friend class Model;
  struct State;
  const State& state() const;
  explicit Attention(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

// A handle: copies share the weights. Runs on the threads of regard/threads.h. May be used from several
// threads at once: their passes over the model take turns. Every result is the same to the bit for any number
// of threads and whatever is decoded beside it.
class Model {
 public:
  // Encoder–decoders. An empty text gives an empty text. Throws usage: the model does not translate, the text
  // is longer than it has positions, options that do not fit; bad_file: text that is not UTF-8.
  std::string translate(std::string_view text, const DecodingOptions& options = {}) const;
  // `progress` comes between steps with the share of the texts that are done; where it gives up, texts that
  // are not done stay empty.
  std::vector<std::string> translate(std::span<const std::string> texts, const DecodingOptions& options = {},
                                     const Progress& progress = {}) const;

  // Decoder-only models: what follows the prompt. Throws as translate() does, and for an empty prompt.
  std::string generate(std::string_view prompt, const DecodingOptions& options = {}) const;

  // What a decoder writes behind `text`, or an encoder–decoder as its translation: options.n_best of them,
  // best first. Throws as translate() does.
  std::vector<Written> write(std::string_view text, const DecodingOptions& options = {},
                             const WriteCallbacks& callbacks = {}) const;
  // The answer to a conversation under the folder's chat template, or under the one called `chat_template`
  // (one of the folder's, or chatml, gemma, llama2, llama3, mistral, phi, zephyr). Throws usage where there
  // is none, and bad_file with file and line for a template that is wrong.
  std::vector<Written> chat(std::span<const Message> conversation, const DecodingOptions& options = {},
                            const WriteCallbacks& callbacks = {}, std::string_view chat_template = {}) const;

  // Looking changes nothing: the pass gives the bits that it gives unwatched.
  Attention attend(std::string_view text, const AttendOptions& options = {}) const;

  bool translates() const;  // has an encoder and a decoder
  bool generates() const;   // has a decoder alone
  std::int64_t parameter_count() const;
  const std::string& warning() const;  // not empty: the best checkpoint is damaged, another is used

 private:
  friend Model load(const std::filesystem::path& path, const Progress& progress);
  friend class Sessions;
  friend struct api::ModelAccess;
  friend SessionMemory session_memory(const Model& model, const SessionLimits& limits);
  struct State;
  State& state() const;
  explicit Model(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

// `path`: a run folder (its best checkpoint), a checkpoint of one, or a Hugging Face folder. Throws bad_file
// and io, naming the file and what is wrong with it; usage where `progress` gives up. That is asked before
// the folder is opened, and then after each matrix that was read and made ready for the kernels, with the
// share of their bytes.
Model load(const std::filesystem::path& path, const Progress& progress = {});

// Writes the model of `from` into the new folder `to` with int8 weights, a quarter as large: load() and
// whatever else takes a folder open it, and compute with int8 (docs/quantization.md). Throws as load() does;
// usage where there is something at `to` already, numeric for weights that are not finite.
void quantize(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace regard
