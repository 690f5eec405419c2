#include "train/tasks/conversation_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/weights.h"
#include "train/batch_preview.h"
#include "train/conversations.h"
#include "train/examples.h"
#include "train/tasks/language_model.h"

namespace regard::train {
namespace {

class ConversationModel : public Task {
 public:
  using Task::Task;

  const TaskTraits& traits() const override { return language_model_traits(); }
  void check() const override {
    if (config_.model.from.empty())
      throw usage_error("'data.conversations' requires 'model.from'")
          .remedy(
              "Set 'model.from' to the folder of a chat model, or of a base model together with "
              "'data.chat_template'");
    check_text_column(config_);
    for (const auto* files : {&config_.data.train, &config_.data.valid})
      for (const std::string& file : *files)
        if (corpus_format(config_, file) != data::CorpusFormat::jsonl)
          throw usage_error("'data.conversations' reads only JSONL files")
              .found(file)
              .expected("a .jsonl file, or data.format = \"jsonl\"");
  }
  SequenceLimit longest_sequence() const override {
    return {"training.context", config_.training.context, ": longer conversations are truncated"};
  }
  // check() requires model.from, so there is neither a new tokenizer nor a new model.
  Tokenizers train_tokenizers(ThreadPool&) const override { return {}; }
  Json model_config(const Tokenizers&) const override { return {}; }
  std::unique_ptr<Network> load_model(const formats::ModelFolder& folder) override {
    generation_ = generation_of_folder(folder);
    return Task::load_model(folder);
  }
  void check_model(Network& model, const Tokenizers&) const override {
    if (model.kind() != ModelKind::decoder) throw unfit_model(config_, "a decoder");
  }
  void load(const Tokenizers& tokenizers, ThreadPool&) override {
    tokenizer_ = tokenizers.target;
    const ChatFormat format = ChatFormat::of(tokenizers, config_.data.chat_template);
    template_ = format.chat_template.text;
    data_ = load_conversations(config_, format);
    notes_.insert(notes_.end(), data_.notes.begin(), data_.notes.end());
    fingerprint_ = data_.fingerprint;
  }
  std::unique_ptr<BatchSource> batches() const override {
    return example_batches(
        data_.train.size(), config_.training.batch_size, static_cast<std::uint64_t>(config_.seed),
        [this](Batch& batch, std::size_t i, std::uint64_t, std::uint64_t index) {
          data_.train.append(batch, i, index);
        },
        data::weighted_sources(data_.sources.ends(), config_.data.weights));
  }
  Var loss(Network& model, Tape& tape, const Batch& batch, const LossOptions& options) const override {
    return next_token_loss(model, tape, batch, options);
  }
  void validate(Network& model, const PassResources& resources, ValidationReport& report) const override {
    const auto add = [this](Batch& batch, std::size_t i) { data_.valid.append(batch, i, i); };
    set_loss(example_loss(model, resources, data_.valid.size(), add).mean(), report);
    report.metrics.push_back({kPerplexity, std::exp(report.loss)});
    answer(model, resources, report);
  }
  Json generation_config() const override { return generation_; }
  // If data.chat_template is set, return the chat template, so that checkpoints contain it as their default.
  std::vector<std::pair<std::string, std::string>> files(const Network&) const override {
    if (config_.data.chat_template.empty()) return {};
    return {{"chat_template.jinja", template_}};
  }
  std::string example_text(const Batch& batch) const override { return next_token_text(*tokenizer_, batch); }
  std::string preview(const Batch& batch, std::size_t sequence) const override {
    return next_token_preview({*tokenizer_}, batch, sequence);
  }

 private:
  // Generate the assistant's last message in the first validation conversations, and add the generated
  // messages to the report as samples.
  void answer(Network& model, const PassResources& resources, ValidationReport& report) const;

  std::shared_ptr<const text::Tokenizer> tokenizer_;
  ConversationData data_;
  std::string template_;
  Json generation_;
};

void ConversationModel::answer(Network& model, const PassResources& resources,
                               ValidationReport& report) const {
  constexpr std::int64_t kNewTokens = 100;
  const auto count = std::min(static_cast<std::size_t>(config_.validation.samples), data_.valid.size());
  if (count == 0) return;
  std::vector<std::vector<std::int32_t>> prompts, references;
  for (std::size_t i = 0; i < count; ++i) {
    const auto ids = data_.valid.ids[i], written = data_.valid.written[i];
    std::size_t end = written.size();
    while (written[end - 1] == 0) --end;
    std::size_t begin = end;
    // A prompt has at least one token, because the first token has no label.
    while (begin > 1 && written[begin - 1] == 1) --begin;
    prompts.emplace_back(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(begin));
    references.emplace_back(ids.begin() + static_cast<std::ptrdiff_t>(begin),
                            ids.begin() + static_cast<std::ptrdiff_t>(end));
  }
  infer::SearchOptions search;
  search.max_new = kNewTokens;
  search.end_tokens = end_tokens_of(generation_);
  model.prepare_for_inference(resources.pool);
  const auto results = infer::generate(model, resources.pool, prompts, search, resources.stop);
  if (results.size() != prompts.size()) throw Stopped{};
  for (std::size_t i = 0; i < count; ++i)
    report.samples.push_back({tokenizer_->decode(prompts[i], false), tokenizer_->decode(references[i]),
                              tokenizer_->decode(results[i].at(0).tokens)});
}

}  // namespace

std::unique_ptr<Task> make_conversation_model(const RunConfig& config) {
  return std::make_unique<ConversationModel>(config);
}

}  // namespace regard::train
