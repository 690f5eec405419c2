// What encoders are asked for: sentence vectors, labels of texts and images, answers out of a text, masked
// words.
//
//   regard::Embedder embedder("models/MiniLM");
//   regard::Tensor vectors = embedder.embed(texts);                                  // [texts, size]
//   regard::Tensor like = embedder.similarities(embedder.embed("a river"), vectors);  // [1, texts]
//
//   regard::Classifier classifier(regard::load("models/sentiment"));
//   std::string label = classifier.classify("Not bad at all.")[0].name;
//
// Texts are UTF-8 (else bad_file). Each gives the bits that it gives alone, whatever its company, and for any
// number of threads. Objects share their model's weights and work on the threads of regard/threads.h. Each
// may be used from several threads at once: its calls take turns. Errors are thrown as regard::Error. An
// object that was moved from is empty: it can be assigned to or destroyed, everything else throws usage and
// names the type.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "regard/model.h"
#include "regard/tensor.h"

namespace regard {

// What every task takes.
struct ReadingOptions {
  std::int64_t max_tokens = 0;         // of one text, special ones counted; 0: what the model has room for
  bool truncate = false;               // longer texts are cut; else they are refused with bad_file
  std::vector<HeadName> ablated = {};  // heads whose output is multiplied with 0
};

// --- sentence vectors ---

// What is not set is as the folder's sentence-transformers files have it; without these: the mean, not
// normalised, nothing cut, no prompt.
struct EmbedOptions {
  std::string pooling = {};  // "cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"
  std::optional<bool> normalise = std::nullopt;      // to length 1
  std::optional<std::string> prompt = std::nullopt;  // put before every text
  std::optional<bool> truncate = std::nullopt;
  std::int64_t max_tokens = 0;
  std::vector<HeadName> ablated = {};
};

class Embedder {
 public:
  // A Hugging Face or sentence-transformers folder, or a run folder. Throws as load() does; bad_file for
  // modules that are not known; usage for options that do not fit.
  explicit Embedder(const std::filesystem::path& folder, const EmbedOptions& options = {});

  std::int64_t size() const;  // of a vector
  // [texts, size]. Throws bad_file where a text is too long and must not be cut, numeric where a vector is
  // not finite.
  Tensor embed(std::span<const std::string> texts) const;
  Tensor embed(std::string_view text) const;  // [1, size]
  // [rows of a, rows of b]: each pair's cosine, or product where the folder compares so.
  Tensor similarities(const Tensor& a, const Tensor& b) const;

 private:
  struct State;
  State& state() const;
  std::shared_ptr<State> state_;
};

// --- labels ---

struct Label {
  std::string name;
  float score = 0.0f;  // a probability; of a regression, the number itself
};

class Classifier {
 public:
  // Names and the kind of scores are the folder's: softmax where one label is right, sigmoid where each is
  // right or wrong by itself. Throws usage where the model classifies no whole texts or images.
  explicit Classifier(const Model& model, const ReadingOptions& options = {});

  const std::vector<std::string>& labels() const;
  // All labels, best first; of each text in the order of the texts.
  std::vector<Label> classify(std::string_view text) const;
  std::vector<Label> classify(std::string_view first, std::string_view second) const;  // a pair
  std::vector<std::vector<Label>> classify(std::span<const std::string> texts) const;
  // PNG, JPEG, PPM, PGM; of each image in an IDX file. As the folder's preprocessor_config.json has it.
  std::vector<std::vector<Label>> classify_image(const std::filesystem::path& file) const;

 private:
  struct State;
  State& state() const;
  std::shared_ptr<State> state_;
};

// --- answers ---

struct AnswerOptions {
  std::size_t count = 1;      // answers wanted
  std::int64_t window = 0;    // tokens read at once, the question counted; 0: 384, or the model's positions
  std::int64_t stride = 0;    // tokens that neighbouring windows share; 0: 128, at most half a window
  std::int64_t longest = 15;  // tokens of an answer
  bool may_be_none = false;   // that there is no answer may win: its text is empty
  bool whole_words = true;    // answers begin and end with words
  std::vector<HeadName> ablated = {};
};

struct Answer {
  std::string text;
  float score = 0.0f;
  std::size_t begin = 0, end = 0;  // in bytes of the text that was searched
};

class Answerer {
 public:
  // Throws usage where the model answers no questions, or options do not fit it.
  explicit Answerer(const Model& model, const AnswerOptions& options = {});
  // The parts of the text that answer the question, best first. Throws bad_file where one of them is empty.
  std::vector<Answer> answer(std::string_view question, std::string_view text) const;

 private:
  struct State;
  State& state() const;
  std::shared_ptr<State> state_;
};

// --- masks ---

struct Filling {
  std::string token;
  float score = 0.0f;    // its probability
  std::string sequence;  // the whole text with it
};

class Filler {
 public:
  // `targets`: choose from these alone; empty: any token. Throws usage where the model fills no masks.
  explicit Filler(const Model& model, const std::vector<std::string>& targets = {},
                  const ReadingOptions& options = {});

  const std::string& mask() const;  // how it is written: "[MASK]", "<mask>"
  // For each mask of the text, the best `count` tokens. Throws bad_file where there is none.
  std::vector<std::vector<Filling>> fill(std::string_view text, std::size_t count = 5) const;

 private:
  struct State;
  State& state() const;
  std::shared_ptr<State> state_;
};

}  // namespace regard
