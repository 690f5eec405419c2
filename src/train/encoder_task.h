// EncoderTask: base class of the tasks that train an encoder with a head. An example is a text, a pair of
// texts, an image or a sound.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "train/examples.h"
#include "train/task.h"

namespace regard::train {

// Description of the head that a task requires.
struct HeadNeed {
  // last part of the class name in transformers, such as "ForSequenceClassification"
  const char* suffix = "";
  Output output = Output::none;
  std::vector<std::string> labels{};  // label names in the order of ids; empty if the head has no labels
  std::string problem_type{};         // problem_type of config.json; empty if there is none
};

class EncoderTask : public Task {
 public:
  using Task::Task;

  void check() const override;
  SequenceLimit longest_sequence() const override {
    return {"data.max_length", config_.data.max_length, ": longer texts are truncated"};
  }
  Tokenizers train_tokenizers(ThreadPool& pool) const override;
  Json model_config(const Tokenizers& tokenizers) const override;
  // Return the folder's model. Its head is kept if class, number of labels and label names match head();
  // otherwise, a new head replaces it. If the folder has no label names, the names are not compared.
  std::unique_ptr<Network> load_model(const formats::ModelFolder& folder) override;
  void check_model(Network& model, const Tokenizers& tokenizers) const override;
  std::unique_ptr<BatchSource> batches() const override;
  Json generation_config() const override { return nullptr; }

 protected:
  virtual HeadNeed head() const = 0;
  virtual std::size_t training_examples() const = 0;
  // Append a training example with its labels to a batch.
  virtual void append(Batch& batch, std::size_t example, std::uint64_t epoch, std::uint64_t index) const = 0;
  // Return a function that stores the next training text and returns true, or returns false at the end. The
  // tokenizer is trained on these texts.
  virtual text::LineSource training_texts() const = 0;

  // Numbers of training examples of each file or group of files, for data.weights. Tasks set them in read()
  // or load().
  data::SourceCounter sources_;

  // Return the output of Network::head() for the last hidden states of the batch.
  static Var head_output(Network& model, Tape& tape, const Batch& batch);
};

// Return `traits` extended by the keys, families and --new settings that all encoder tasks share.
TaskTraits encoder_traits(TaskTraits traits);
// Return `traits` extended by encoder_traits(), and by the keys and families of tasks that predict labels of
// texts: keys of [labels], and mlp, cnn, rnn, lstm and gru.
TaskTraits label_traits(TaskTraits traits);

// Return the label names in config.json in the order of ids; empty if there are none or only default names.
std::vector<std::string> label_names(const Json& config);

// Runs forward passes over all examples without recording them for a backward pass. The examples are divided
// into groups, one pass for each; the division does not depend on the number of threads.
class PredictionPass {
 public:
  PredictionPass(Network& model, const PassResources& resources);
  // For each group, call append(batch, i) for each of its examples, then visit(tape, batch, begin, end).
  // Throws Stopped as soon as resources.stop returns true.
  template <class Append, class Visit>
  void run(const data::TokenStore& ids, Append&& append, Visit&& visit) {
    in_groups(ids, kTokens, [&](std::size_t begin, std::size_t end) { group(begin, end, append, visit); });
  }
  // The same as run() above, for examples of at most `positions` positions each, such as images.
  template <class Append, class Visit>
  void run(std::size_t examples, std::int64_t positions, Append&& append, Visit&& visit) {
    const auto together =
        static_cast<std::size_t>(std::max<std::int64_t>(kTokens / std::max<std::int64_t>(positions, 1), 1));
    for (std::size_t begin = 0; begin < examples; begin += together)
      group(begin, std::min(begin + together, examples), append, visit);
  }

 private:
  template <class Append, class Visit>
  void group(std::size_t begin, std::size_t end, Append&& append, Visit&& visit) {
    batch_.clear();
    for (std::size_t i = begin; i < end; ++i) append(batch_, i);
    tape_.begin({});
    visit(tape_, batch_, begin, end);
    if (stop_ && stop_()) throw Stopped{};
  }

  // maximum number of tokens per forward pass, unless a single example is longer; does not affect the results
  static constexpr std::int64_t kTokens = 4096;
  infer::Stop stop_;
  Tape tape_;
  Batch batch_;
};

}  // namespace regard::train
