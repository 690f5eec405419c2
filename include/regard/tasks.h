// Tasks of encoders: sentence vectors, classification of texts and images, classification of tokens,
// extractive question answering, and prediction of masked words.
//
//   regard::Embedder embedder("models/MiniLM");
//   regard::Tensor vectors = embedder.embed(texts);                                  // [texts, size]
//   regard::Tensor like = embedder.similarities(embedder.embed("a river"), vectors);  // [1, texts]
//
//   regard::Classifier classifier(regard::load("models/sentiment"));
//   std::string label = classifier.classify("Not bad at all.")[0].name;
//
// Results are bit-identical for any number of threads and regardless of what else is in the batch. Objects
// share their model's weights and run on the threads of regard/threads.h; calls on one object are serialised.
//
// Errors are thrown as regard::Error: invalid_input for a text that is not UTF-8, and numeric if the model's
// output is not finite. A moved-from object can only be assigned to or destroyed; every other call throws
// usage and names the type.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "regard/export.h"
#include "regard/model.h"
#include "regard/tensor.h"

namespace regard {

// Options common to several tasks.
struct ReadingOptions {
  // maximum tokens per text, including special tokens; 0 means the model's maximum number of positions
  std::int64_t max_tokens = 0;
  bool truncate = false;               // truncate longer texts; if false, throw invalid_input
  std::vector<HeadName> ablated = {};  // heads whose output is multiplied by 0
  // Interventions applied in every forward pass (syntax: docs/looking.md), such as "zero cross.1.0" or
  // "patch decoder.2.residual text=…".
  std::vector<std::string> interventions = {};
};

// The following types are for sentence vectors.

// Options of sentence vectors. The default of a field is the value in the folder's sentence-transformers
// files or, without these files, mean pooling, no normalisation, no truncation and no prompt.
struct EmbedOptions {
  // one of "cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"
  std::string pooling = {};
  std::optional<bool> normalise = std::nullopt;      // scale vectors to length 1
  std::optional<std::string> prompt = std::nullopt;  // text prepended to every input text
  std::optional<bool> truncate = std::nullopt;
  std::int64_t max_tokens = 0;
  std::vector<HeadName> ablated = {};
  std::vector<std::string> interventions = {};
  Precision precision = Precision::f32;  // number format of the computation (regard/model.h)
};

class REGARD_API Embedder {
 public:
  // Open a Hugging Face or sentence-transformers folder, or a run folder. Throws as load() does; bad_file for
  // unknown modules and usage for invalid options.
  explicit Embedder(const std::filesystem::path& folder, const EmbedOptions& options = {});

  std::int64_t size() const;  // number of elements of a vector
  // Return vectors [texts, size]. Throws invalid_input if a text is too long and truncation is off, numeric
  // if a vector is not finite.
  Tensor embed(std::span<const std::string> texts) const;
  Tensor embed(std::string_view text) const;  // [1, size]
  // Return the similarities [rows of a, rows of b]: the cosine of each pair of rows, or the dot product if
  // the folder selects it.
  Tensor similarities(const Tensor& a, const Tensor& b) const;

 private:
  struct State;
  State& state() const;
  std::shared_ptr<State> state_;
};

// The following types are for classification.

struct Label {
  std::string name;
  float score = 0.0f;  // probability of the label; for regression, the predicted number
};

class REGARD_API Classifier {
 public:
  // Label names and the kind of scores come from the folder: softmax for single-label, sigmoid for
  // multi-label classification. Throws usage if the model is not a classifier of whole texts or images.
  explicit Classifier(const Model& model, const ReadingOptions& options = {});

  const std::vector<std::string>& labels() const;
  // Return all labels, best first. For several texts, return one list per text in the same order. Throws
  // usage if the model does not read text.
  std::vector<Label> classify(std::string_view text) const;
  // labels of a pair of texts
  std::vector<Label> classify(std::string_view first, std::string_view second) const;
  std::vector<std::vector<Label>> classify(std::span<const std::string> texts) const;
  // Return one list of labels for each image of a file (formats: see regard/pictures.h). Images are
  // preprocessed as preprocessor_config.json in the model's folder specifies. Throws usage if the model does
  // not read images.
  std::vector<std::vector<Label>> classify_image(const std::filesystem::path& file) const;

 private:
  struct State;
  State& state() const;
  std::shared_ptr<State> state_;
};

// The following types are for labels of tokens.

// Rule that converts labels of tokens to results, as in transformers' token-classification pipeline.
enum class Aggregation {
  none,     // one result per token
  simple,   // adjacent tokens of one entity are joined, such as "B-PER" and "I-PER"
  first,    // like `simple`, but a word has the label of its first token
  average,  // like `simple`, but a word has the label with the highest mean probability
  max,      // like `simple`, but a word has the label of the token with the highest probability
};

struct TagOptions {
  Aggregation aggregation = Aggregation::none;
  // tokens per window, including special tokens; 0 means the model's maximum number of positions, or 512 if
  // it has no limit
  std::int64_t window = 0;
  // Tokens shared by adjacent windows. Default: 128, or a quarter of the window without its special tokens if
  // that is smaller.
  std::optional<std::int64_t> stride = std::nullopt;
  std::vector<std::string> ignored = {"O"};  // labels and entities to omit
  std::vector<HeadName> ablated = {};
  std::vector<std::string> interventions = {};
};

struct Tag {
  // with Aggregation::none, the label as in the folder ("B-PER"); otherwise the entity ("PER")
  std::string label;
  float score = 0.0f;              // probability; for an entity, the mean over its tokens or words
  std::string word;                // spelling of the token, or the decoded tokens of the entity
  std::size_t begin = 0, end = 0;  // byte range in the text
};

class REGARD_API Tagger {
 public:
  // Throws usage if the model does not classify tokens, or options are invalid for it.
  explicit Tagger(const Model& model, const TagOptions& options = {});

  const std::vector<std::string>& labels() const;
  // Return the tags of a text; a long text is divided into overlapping windows. For several texts, return one
  // list per text in the same order.
  std::vector<Tag> tag(std::string_view text) const;
  std::vector<std::vector<Tag>> tag(std::span<const std::string> texts) const;
  // Tag a text given as words. Offsets are byte positions in the words joined by spaces.
  std::vector<Tag> tag_words(std::span<const std::string> words) const;
  // Return the label of the first token of each word; "" for a word without tokens.
  std::vector<std::string> word_labels(std::span<const std::string> words) const;

 private:
  struct State;
  State& state() const;
  std::shared_ptr<State> state_;
};

// The following types are for question answering.

struct AnswerOptions {
  std::size_t count = 1;  // maximum number of answers
  // tokens per window, including the question; 0 means 384, or the model's maximum number of
  // positions if that is smaller
  std::int64_t window = 0;
  // tokens shared by adjacent windows; 0 means 128, or half a window if that is smaller
  std::int64_t stride = 0;
  std::int64_t longest = 15;  // maximum tokens of an answer
  bool may_be_none = false;   // if true, "no answer" is a candidate; its text is empty
  bool whole_words = true;    // answers start and end at word boundaries
  std::vector<HeadName> ablated = {};
  std::vector<std::string> interventions = {};
};

struct Answer {
  std::string text;
  float score = 0.0f;
  std::size_t begin = 0, end = 0;  // byte range in the searched text
};

class REGARD_API Answerer {
 public:
  // Throws usage if the model is not a question-answering model, or options are invalid for it.
  explicit Answerer(const Model& model, const AnswerOptions& options = {});
  // Return the spans of the text that answer the question, best first. Throws invalid_input if the question
  // or the text is blank, or if the question is too long for a window.
  std::vector<Answer> answer(std::string_view question, std::string_view text) const;

 private:
  struct State;
  State& state() const;
  std::shared_ptr<State> state_;
};

// The following types are for masked words.

struct Filling {
  std::string token;
  float score = 0.0f;    // probability of the token
  std::string sequence;  // the whole text with the mask replaced by the token
};

class REGARD_API Filler {
 public:
  // `targets` are the tokens from which fill() chooses; empty means all tokens. Throws usage if the model is
  // not a masked language model.
  explicit Filler(const Model& model, const std::vector<std::string>& targets = {},
                  const ReadingOptions& options = {});

  const std::string& mask() const;  // spelling of the mask token, such as "[MASK]" or "<mask>"
  // Return the best `count` tokens for each mask of the text. Throws invalid_input if the text has no mask.
  std::vector<std::vector<Filling>> fill(std::string_view text, std::size_t count = 5) const;

 private:
  struct State;
  State& state() const;
  std::shared_ptr<State> state_;
};

}  // namespace regard
