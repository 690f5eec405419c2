#include "train/tasks/masked_language_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/counted.h"
#include "base/random.h"
#include "base/shuffle.h"
#include "data/duplicates.h"
#include "ops/embedding.h"
#include "train/batch_preview.h"
#include "train/encode.h"
#include "train/encoder_task.h"

namespace regard::train {
namespace {

// epoch number used in all validations, so that every validation masks the same tokens
constexpr std::uint64_t kValidationEpoch = std::uint64_t{1} << 40;

MaskUnit unit_of(const std::string& name) {
  if (name == "token") return MaskUnit::token;
  return name == "span" ? MaskUnit::span : MaskUnit::word;
}

// Return the groups of tokens that are masked together, as ranges [begin, end), in random order. A group is a
// token, a word or a span of words.
std::vector<std::pair<std::size_t, std::size_t>> candidates(std::span<const std::int32_t> starts,
                                                            MaskUnit unit, RandomStream& random) {
  std::vector<std::pair<std::size_t, std::size_t>> words;
  for (std::size_t t = 0; t < starts.size(); ++t)
    if (t == 0 || unit == MaskUnit::token || starts[t] != 0)
      words.emplace_back(t, t + 1);
    else
      words.back().second = t + 1;
  if (unit != MaskUnit::span) {
    shuffle(words, random);
    return words;
  }
  constexpr double kStop = 0.2;         // probability that a span ends after a given word
  constexpr std::size_t kLongest = 10;  // maximum number of words in a span
  std::vector<std::size_t> order(words.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  shuffle(order, random);
  std::vector<std::pair<std::size_t, std::size_t>> spans;
  for (const std::size_t first : order) {
    std::size_t length = 1;
    while (length < kLongest && static_cast<double>(random.next_uniform()) >= kStop) ++length;
    const std::size_t last = std::min(first + length, words.size()) - 1;
    spans.emplace_back(words[first].first, words[last].second);
  }
  return spans;
}

// A corpus as blocks of tokens: [CLS] tokens [SEP]. A block may begin and end inside a line.
struct Blocks {
  Examples examples;
  data::TokenStore starts;  // for each token: 1 if a word begins at it, −1 for special tokens, otherwise 0
};

class MaskedLanguageModel : public EncoderTask {
 public:
  using EncoderTask::EncoderTask;

  const TaskTraits& traits() const override { return masked_language_model_traits(); }
  void read() override;
  void check() const override {
    EncoderTask::check();
    check_text_column(config_);
  }
  void load(const Tokenizers& tokenizers, ThreadPool& pool) override;
  Var loss(Network& model, Tape& tape, const Batch& batch, const LossOptions& options) const override;
  void validate(Network& model, const PassResources& resources, ValidationReport& report) const override;
  std::string example_text(const Batch& batch) const override {
    const auto length = static_cast<std::size_t>(batch.target.view().offsets[1]);
    std::vector<std::int32_t> shown(batch.ids.begin(),
                                    batch.ids.begin() + static_cast<std::ptrdiff_t>(length));
    std::string text = fmt::format("  input:  {}\n", tokens_text(*tokenizer_, shown));
    for (std::size_t t = 0; t < length; ++t)
      if (batch.labels[t] != kIgnoredLabel) shown[t] = batch.labels[t];
    return text + fmt::format("  labels: {}\n", tokens_text(*tokenizer_, shown));
  }
  std::string preview(const Batch& batch, std::size_t sequence) const override {
    return next_token_preview({*tokenizer_}, batch, sequence);
  }

 protected:
  HeadNeed head() const override { return {"ForMaskedLM", Output::vocabulary, {}, ""}; }
  std::size_t training_examples() const override { return train_.examples.size(); }
  void append(Batch& batch, std::size_t example, std::uint64_t epoch, std::uint64_t index) const override {
    append(train_, batch, example, epoch, index);
  }
  text::LineSource training_texts() const override {
    return [this, at = std::size_t{0}](std::string& line) mutable {
      if (at == train_lines_.size()) return false;
      line = train_lines_[at++];
      return true;
    };
  }

 private:
  // Encode lines and append their blocks. The last block may be shorter than the others.
  void encode(std::span<const std::string> lines, Blocks& blocks, ThreadPool& pool) const;
  void encode_training(ThreadPool& pool);
  void append(const Blocks& blocks, Batch& batch, std::size_t example, std::uint64_t epoch,
              std::uint64_t index) const;
  void add_sample(const Tensor& logits, const Batch& batch, ValidationReport& report) const;
  // Rows of the masked tokens in the hidden states, and their labels. The memory is in the tape's arena.
  struct Masked {
    std::span<std::int32_t> rows, labels;
  };
  static Masked masked_of(Tape& tape, const Batch& batch);

  std::vector<std::string> train_lines_, valid_lines_;
  data::SourceCounter lines_;  // number of training lines of each file
  data::CorpusReport report_;
  std::string duplicates_;  // message about records that occur in both training and validation data
  Blocks train_, valid_;
  MaskRules rules_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
};

void MaskedLanguageModel::read() {
  data::SplitDuplicates duplicates;
  data::CorpusReport read_valid;
  // Do not search running text for duplicates, because lines such as headings may occur several times.
  const bool compared = !is_plain_text(config_);
  if (!config_.data.valid.empty()) {
    RecordReader records(config_, config_.data.valid);
    while (records.next()) {
      valid_lines_.push_back(records.texts()[0]);
      if (compared) duplicates.add_validation(records.texts(), records.place());
    }
    read_valid = records.report();
  }
  RecordReader records(config_, config_.data.train);
  while (records.next()) {
    (records.held_out() ? valid_lines_ : train_lines_).push_back(records.texts()[0]);
    lines_.set(records.corpus(), train_lines_.size());
    duplicates.check_training(records.texts(), records.place());
  }
  report_ = records.report();
  report_.add(read_valid);
  duplicates_ = duplicates.text();
}

void MaskedLanguageModel::encode(std::span<const std::string> lines, Blocks& blocks, ThreadPool& pool) const {
  const auto before = tokenizer_->before(), after = tokenizer_->after();
  const std::size_t max_content =
      static_cast<std::size_t>(config_.data.max_length) - before.size() - after.size();
  std::vector<std::int32_t> ids, starts;
  const auto flush = [&] {
    if (ids.empty()) return;
    ids.insert(ids.begin(), before.begin(), before.end());
    ids.insert(ids.end(), after.begin(), after.end());
    starts.insert(starts.begin(), before.size(), -1);
    starts.insert(starts.end(), after.size(), -1);
    blocks.examples.ids.add(ids);
    blocks.starts.add(starts);
    ids.clear();
    starts.clear();
  };
  const text::EncodeOptions options{.add_special = false, .match_special = false, .as_file = false};
  std::vector<text::TextPair> views;
  for (std::size_t begin = 0; begin < lines.size(); begin += views.size()) {
    views.clear();
    for (std::size_t i = begin; i < std::min(begin + kTextsAtOnce, lines.size()); ++i)
      views.push_back({lines[i], std::nullopt});
    for (const text::Encoding& encoding : tokenizer_->encode_batch(views, options, &pool)) {
      for (std::size_t t = 0; t < encoding.size(); ++t) {
        ids.push_back(encoding.ids[t]);
        starts.push_back(t == 0 || encoding.words[t] != encoding.words[t - 1] ? 1 : 0);
        if (ids.size() == max_content) flush();
      }
    }
  }
  flush();
}

// With data.weights, no block contains text of two files.
void MaskedLanguageModel::encode_training(ThreadPool& pool) {
  if (config_.data.weights.empty()) return encode(train_lines_, train_, pool);
  std::size_t begin = 0;
  for (std::size_t file = 0; file < lines_.ends().size(); begin = lines_.ends()[file++]) {
    encode(std::span(train_lines_).subspan(begin, lines_.ends()[file] - begin), train_, pool);
    sources_.set(file, train_.examples.size());
  }
}

void MaskedLanguageModel::load(const Tokenizers& tokenizers, ThreadPool& pool) {
  tokenizer_ = tokenizers.target;
  rules_ = {.unit = unit_of(config_.masking.unit),
            .share = config_.masking.share,
            .vocabulary = tokenizer_->vocabulary_size(),
            .seed = static_cast<std::uint64_t>(config_.seed)};
  for (const char* name : {"[MASK]", "<mask>"})
    if (const auto id = tokenizer_->id_of(name)) rules_.mask = *id;
  if (rules_.mask < 0)
    throw usage_error("the tokenizer has no mask token").expected("the token [MASK] or <mask>");
  if (config_.data.max_length <= std::ssize(tokenizer_->before()) + std::ssize(tokenizer_->after()))
    throw usage_error("'data.max_length' is too small for the special tokens and text")
        .found(std::to_string(config_.data.max_length))
        .expected(
            fmt::format("more than {}", std::ssize(tokenizer_->before()) + std::ssize(tokenizer_->after())));
  encode_training(pool);
  encode(valid_lines_, valid_, pool);
  for (const auto& [what, blocks] : {std::pair("training", &train_), std::pair("validation", &valid_)}) {
    notes_.push_back(fmt::format("{}: {}, {}{}", what, counted(blocks->examples.size(), "block"),
                                 counted(blocks->examples.ids.tokens(), "token"),
                                 blocks == &valid_ ? "; read " + report_.text() : ""));
    fingerprint_ = fingerprint_ * 3 + blocks->examples.ids.fingerprint();
  }
  if (!duplicates_.empty()) notes_.push_back(duplicates_);
  if (train_.examples.size() == 0) throw nothing_left(config_, "train");
  if (valid_.examples.size() == 0) throw nothing_left(config_, "validate");
}

void MaskedLanguageModel::append(const Blocks& blocks, Batch& batch, std::size_t example, std::uint64_t epoch,
                                 std::uint64_t index) const {
  blocks.examples.append(batch, example, index);
  const std::span<std::int32_t> ids = std::span(batch.ids).last(blocks.examples.ids.length(example));
  const std::vector<std::int32_t> labels = mask_tokens(ids, blocks.starts[example], rules_, epoch, example);
  batch.labels.insert(batch.labels.end(), labels.begin(), labels.end());
}

MaskedLanguageModel::Masked MaskedLanguageModel::masked_of(Tape& tape, const Batch& batch) {
  const auto count = static_cast<std::size_t>(batch.target_tokens());
  Masked masked{tape.arena().array<std::int32_t>(count), tape.arena().array<std::int32_t>(count)};
  std::size_t next = 0;
  for (std::size_t t = 0; t < batch.labels.size(); ++t) {
    if (batch.labels[t] == kIgnoredLabel) continue;
    masked.rows[next] = static_cast<std::int32_t>(t);
    masked.labels[next++] = batch.labels[t];
  }
  return masked;
}

// Logits are computed only for masked tokens.
Var MaskedLanguageModel::loss(Network& model, Tape& tape, const Batch& batch,
                              const LossOptions& options) const {
  Var hidden = model.encode(tape, batch.target_batch());
  const Masked masked = masked_of(tape, batch);
  return model.loss(tape, ops::select_rows(tape, hidden, masked.rows), masked.labels, options.label_smoothing,
                    options.factor);
}

// Add the first example of the batch as a sample: its masked text, the original text, and the text with the
// predicted tokens.
void MaskedLanguageModel::add_sample(const Tensor& logits, const Batch& batch,
                                     ValidationReport& report) const {
  const auto length = static_cast<std::size_t>(batch.target.view().offsets[1]);
  std::vector<std::int32_t> masked(batch.ids.begin(),
                                   batch.ids.begin() + static_cast<std::ptrdiff_t>(length));
  std::vector<std::int32_t> truth = masked, predicted = masked;
  std::int64_t row = 0;
  for (std::size_t t = 0; t < length; ++t) {
    if (batch.labels[t] == kIgnoredLabel) continue;
    const float* scores = logits.row(row++);
    truth[t] = batch.labels[t];
    predicted[t] = static_cast<std::int32_t>(std::max_element(scores, scores + logits.columns()) - scores);
  }
  report.samples.push_back(
      {tokenizer_->decode(masked, false), tokenizer_->decode(truth), tokenizer_->decode(predicted)});
}

void MaskedLanguageModel::validate(Network& model, const PassResources& resources,
                                   ValidationReport& report) const {
  double loss = 0;
  std::int64_t right = 0, masked_tokens = 0;
  PredictionPass pass(model, resources);
  pass.run(
      valid_.examples.ids,
      [&](Batch& batch, std::size_t i) { append(valid_, batch, i, kValidationEpoch, i); },
      [&](Tape& tape, const Batch& batch, std::size_t, std::size_t) {
        Var hidden = model.encode(tape, batch.target_batch());
        const Masked masked = masked_of(tape, batch);
        Var selected = ops::select_rows(tape, hidden, masked.rows);
        const Tensor& logits = model.logits(tape, selected)->value;
        loss += static_cast<double>(model.loss(tape, selected, masked.labels, 0.0f, 1.0f)->value.f32()[0]);
        masked_tokens += std::ssize(masked.rows);
        for (std::size_t i = 0; i < masked.labels.size(); ++i) {
          const float* row = logits.row(static_cast<std::int64_t>(i));
          right += std::max_element(row, row + logits.columns()) - row == masked.labels[i] ? 1 : 0;
        }
        if (std::ssize(report.samples) < config_.validation.samples) add_sample(logits, batch, report);
      });
  set_loss(loss / static_cast<double>(masked_tokens), report);
  report.metrics.push_back({kPerplexity, std::exp(report.loss)});
  if (config_.wants(kAccuracy.name))
    report.metrics.push_back({kAccuracy, static_cast<double>(right) / static_cast<double>(masked_tokens)});
}

}  // namespace

std::vector<std::int32_t> mask_tokens(std::span<std::int32_t> ids, std::span<const std::int32_t> starts,
                                      const MaskRules& rules, std::uint64_t epoch, std::uint64_t example) {
  constexpr double kMasked = 0.8, kRandom = 0.1;
  RandomStream random(
      {rules.seed, (epoch << 20) ^ (example * 0x9E3779B97F4A7C15ull), place_of("data.masks")});
  // Special tokens are at both ends and have the value −1 in `starts`.
  const auto is_text = [](std::int32_t start) { return start >= 0; };
  const auto first =
      static_cast<std::size_t>(std::find_if(starts.begin(), starts.end(), is_text) - starts.begin());
  const auto text = static_cast<std::size_t>(std::count_if(starts.begin(), starts.end(), is_text));
  const auto wanted = std::max<std::int64_t>(std::llround(rules.share * static_cast<double>(text)), 1);
  std::vector<std::int32_t> labels(ids.size(), kIgnoredLabel);
  std::int64_t chosen = 0;
  for (const auto& [begin, end] : candidates(starts.subspan(first, text), rules.unit, random)) {
    if (chosen >= wanted) break;
    const auto more = static_cast<std::int64_t>(end - begin);
    if (chosen > 0 && chosen + more > wanted) continue;
    for (std::size_t t = first + begin; t < first + end; ++t) {
      if (labels[t] != kIgnoredLabel) continue;
      labels[t] = ids[t];
      ++chosen;
      const auto draw = static_cast<double>(random.next_uniform());
      if (draw < kMasked)
        ids[t] = rules.mask;
      else if (draw < kMasked + kRandom)
        ids[t] = static_cast<std::int32_t>(random.next_below(static_cast<std::uint64_t>(rules.vocabulary)));
    }
  }
  return labels;
}

const TaskTraits& masked_language_model_traits() {
  static const TaskTraits traits = encoder_traits(
      {.name = "masked-language-model",
       .meaning = "predict masked tokens of a text",
       .keys = {"masking.unit", "masking.share"},
       .metrics = {kLoss, kAccuracy},
       .corpus = {.plain = data::CorpusFormat::text, .aligned = false},
       .example = {"data.train=[\"train.txt\"]", "data.valid=[\"valid.txt\"]", "masking.unit=word",
                   "masking.share=0.15", "validation.metrics=[\"loss\", \"accuracy\"]"},
       .verb = "fill",
       .labels = "masked tokens",
       .make = new_task<MaskedLanguageModel>});
  return traits;
}

}  // namespace regard::train
