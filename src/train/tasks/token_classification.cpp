#include "train/tasks/token_classification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/counted.h"
#include "base/hash.h"
#include "data/duplicates.h"
#include "data/tagged.h"
#include "metrics/classification.h"
#include "metrics/entities.h"
#include "train/batch_preview.h"
#include "train/confusion.h"
#include "train/encode.h"
#include "train/encoder_task.h"
#include "train/label_loss.h"
#include "train/label_set.h"
#include "train/labeled_rows.h"

namespace regard::train {
namespace {

constexpr MetricKind kEntityF1{"entity_f1", "entity F1", 4, true};

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

// Read the sentences of files (tables, CoNLL-U files or BIO files), and call add(sentence, index of the file)
// for each.
template <class Add>
data::RowReport read_sentences(const RunConfig& config, const std::vector<std::string>& files, Add&& add) {
  data::TableOptions options = table_options(config, files);
  data::TaggedSentence sentence;
  if (data::has_columns(options.format)) {
    data::TableReader table(options);
    data::TableRow row;
    while (table.next(row)) {
      if (!table.read_or_skip(row, [&] { sentence = data::tagged_sentence(row, 0, 1); })) continue;
      if (!sentence.words.empty()) {
        add(sentence, table.file_index());
      } else if (config.data.empty_lines == "refuse") {
        throw row.error(0, "the sentence has no words")
            .remedy("Remove the row, or set data.empty_lines = \"skip\"");
      } else {
        --table.report().records;
        table.report().skip(data::SkipReason::empty, row.place());
      }
    }
    table.report().refuse_more_than(config.data.max_skipped, "data.max_skipped");
    return table.report();
  }
  data::TaggedReader reader({.files = files, .bad_utf8 = options.bad_utf8, .malformed = options.malformed});
  while (reader.next(sentence)) add(sentence, reader.file_index());
  reader.report().refuse_more_than(config.data.max_skipped, "data.max_skipped");
  return reader.report();
}

class TokenClassification : public EncoderTask {
 public:
  using EncoderTask::EncoderTask;

  const TaskTraits& traits() const override { return token_classification_traits(); }
  void check() const override;
  void read() override;
  std::unique_ptr<Network> load_model(const formats::ModelFolder& folder) override {
    labels_ = ordered_as(labels_, config_.labels, label_names(folder.config));
    return EncoderTask::load_model(folder);
  }
  void load(const Tokenizers& tokenizers, ThreadPool& pool) override;
  Var loss(Network& model, Tape& tape, const Batch& batch, const LossOptions& options) const override {
    return label_loss(tape, head_output(model, tape, batch), batch, weights_, options);
  }
  void validate(Network& model, const PassResources& resources, ValidationReport& report) const override;
  std::string example_text(const Batch& batch) const override;
  std::string preview(const Batch& batch, std::size_t sequence) const override {
    return labelled_preview(*tokenizer_, part_of(batch.ids, batch, sequence),
                            part_of(batch.labels, batch, sequence), labels_.names());
  }

 protected:
  HeadNeed head() const override {
    return {"ForTokenClassification", Output::token_classes, labels_.names(), ""};
  }
  std::size_t training_examples() const override { return train_.examples.size(); }
  void append(Batch& batch, std::size_t example, std::uint64_t, std::uint64_t index) const override {
    append(train_, batch, example, index);
  }
  text::LineSource training_texts() const override {
    return [this, at = std::size_t{0}](std::string& line) mutable {
      if (at == train_.sentences.size()) return false;
      line = joined(train_.sentences[at++].words);
      return true;
    };
  }

 private:
  struct Part {
    std::vector<data::TaggedSentence> sentences;
    data::RowReport report;
    Examples examples;
    data::TokenStore labels;  // label of each token; kIgnoredLabel if no word begins in it
    // number of words with a labelled token, and number of all other words
    std::int64_t words = 0, cut = 0;
  };
  // Predicted and true labels of the validation words that have a token, one list per sentence.
  struct Predictions {
    std::vector<std::vector<std::string>> predicted, truth;
    std::vector<std::int32_t> predicted_ids, truth_ids;
    double loss = 0, weight = 0;
  };

  std::string clean(const std::string& tag) const {
    return config_.labels.until.empty() ? tag : tag.substr(0, tag.find(config_.labels.until));
  }
  void find_duplicates();
  void encode(Part& part, const text::Tokenizer& tokenizer, ThreadPool& pool) const;
  void note(const char* what, const Part& part);
  void append(const Part& part, Batch& batch, std::size_t example, std::uint64_t index) const;
  void take(const Tensor& logits, const Batch& batch, Predictions& predictions) const;
  void measure(const Predictions& predictions, ValidationReport& report) const;

  LabelSet labels_;
  std::vector<float> weights_;
  Part train_, valid_;
  // message about sentences that occur in both training and validation data; may be ""
  std::string duplicates_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
};

void TokenClassification::check() const {
  EncoderTask::check();
  check_labels(config_.labels);
  for (const auto* files : {&config_.data.train, &config_.data.valid}) {
    if (files->empty() || !data::has_columns(corpus_format(config_, files->front()))) continue;
    const std::size_t columns = corpus_columns(config_, files->front()).size();
    if (columns != 2)
      throw usage_error(fmt::format("'{}' must name two columns: the words and their labels",
                                    corpus_columns_key(config_, files->front())))
          .found(counted(columns, "column"))
          .expected("two, such as columns = [1, 2], or [\"tokens\", \"tags\"] for JSONL");
  }
}

void TokenClassification::read() {
  const auto add = [&](data::TaggedSentence& sentence, std::size_t file) {
    (is_held_out(config_, joined(sentence.words)) ? valid_ : train_).sentences.push_back(sentence);
    sources_.set(file, train_.sentences.size());
  };
  train_.report = read_sentences(config_, config_.data.train, add);
  valid_.report = train_.report;
  if (!config_.data.valid.empty())
    valid_.report = read_sentences(
        config_, config_.data.valid,
        [&](data::TaggedSentence& sentence, std::size_t) { valid_.sentences.push_back(sentence); });
  find_duplicates();
  std::set<std::string> tags;
  for (const data::TaggedSentence& sentence : train_.sentences)
    for (const std::string& tag : sentence.tags) {
      if (clean(tag).empty())
        throw Error(ErrorKind::bad_file, "'labels.until' leaves nothing of a label", sentence.place)
            .found("'" + tag + "'")
            .remedy("Correct the label, or change 'labels.until'");
      tags.insert(clean(tag));
    }
  labels_ = choose_labels(config_.labels, {tags.begin(), tags.end()}, 2, config_.data.train[0]);
}

void TokenClassification::find_duplicates() {
  data::SplitDuplicates duplicates;
  const auto text = [](const data::TaggedSentence& sentence) { return std::vector{joined(sentence.words)}; };
  for (const data::TaggedSentence& one : valid_.sentences) duplicates.add_validation(text(one), one.place);
  for (const data::TaggedSentence& one : train_.sentences) duplicates.check_training(text(one), one.place);
  duplicates_ = duplicates.text();
}

void TokenClassification::encode(Part& part, const text::Tokenizer& tokenizer, ThreadPool& pool) const {
  text::EncodeOptions options{.add_special = true, .match_special = false, .as_file = false};
  options.truncation = text::Truncation{.max_length = static_cast<std::size_t>(config_.data.max_length)};
  const bool given = !config_.labels.names.empty();
  std::vector<std::string> texts;
  std::vector<text::TextPair> views;
  for (std::size_t begin = 0; begin < part.sentences.size(); begin += texts.size()) {
    const std::size_t end = std::min(begin + kTextsAtOnce, part.sentences.size());
    texts.clear();
    for (std::size_t i = begin; i < end; ++i) texts.push_back(joined(part.sentences[i].words));
    views.assign(texts.size(), {});
    for (std::size_t i = 0; i < texts.size(); ++i) views[i].first = texts[i];
    const std::vector<text::Encoding> encodings = tokenizer.encode_batch(views, options, &pool);
    for (std::size_t i = 0; i < encodings.size(); ++i) {
      const data::TaggedSentence& sentence = part.sentences[begin + i];
      std::vector<std::int32_t> labels = first_tokens(encodings[i], sentence.words);
      std::int64_t labelled = 0;
      for (std::int32_t& label : labels) {
        if (label >= 0) ++labelled;
        label = label < 0 ? kIgnoredLabel
                          : labels_.id_of(clean(sentence.tags[static_cast<std::size_t>(label)]),
                                          sentence.place, given);
      }
      part.words += labelled;
      part.cut += std::ssize(sentence.words) - labelled;
      part.examples.ids.add(encodings[i].ids);
      part.labels.add(labels);
    }
  }
}

void TokenClassification::note(const char* what, const Part& part) {
  std::string text = fmt::format("{}: {}, {}, {}; read {}", what, counted(part.examples.size(), "sentence"),
                                 counted(part.words, "word"), counted(part.examples.ids.tokens(), "token"),
                                 part.report.text());
  if (part.cut > 0)
    text += fmt::format("; skipped {} without tokens or beyond the first {} of a sentence",
                        counted(part.cut, "word"), counted(config_.data.max_length, "token"));
  if (part.examples.size() > 1 && part.words + part.cut == static_cast<std::int64_t>(part.examples.size()))
    text +=
        "; each sentence has only one word, so the labels are predicted without context. If the file has one "
        "word per line, its name must not end in .tsv, .csv or .jsonl";
  notes_.push_back(text);
  fingerprint_ = (fingerprint_ * 3 + part.examples.ids.fingerprint()) * 3 + part.labels.fingerprint();
}

void TokenClassification::load(const Tokenizers& tokenizers, ThreadPool& pool) {
  tokenizer_ = tokenizers.target;
  encode(train_, *tokenizer_, pool);
  encode(valid_, *tokenizer_, pool);
  note("training", train_);
  note("validation", valid_);
  if (!duplicates_.empty()) notes_.push_back(duplicates_);
  if (train_.words == 0) throw nothing_left(config_, "train");
  if (valid_.words == 0) throw nothing_left(config_, "validate");
  std::vector<std::int64_t> counts(labels_.size(), 0);
  for (const std::int32_t label : train_.labels.ids())
    if (label != kIgnoredLabel) ++counts[static_cast<std::size_t>(label)];
  weights_ = label_weights(config_.labels, labels_, counts, notes_);
}

void TokenClassification::append(const Part& part, Batch& batch, std::size_t example,
                                 std::uint64_t index) const {
  part.examples.append(batch, example, index);
  const auto labels = part.labels[example];
  batch.labels.insert(batch.labels.end(), labels.begin(), labels.end());
  if (weights_.empty()) return;
  for (const std::int32_t label : labels)
    batch.label_weights.push_back(label == kIgnoredLabel ? 0.0f : weights_[static_cast<std::size_t>(label)]);
}

// Append the predictions of a group of examples. `logits` is [tokens, labels].
void TokenClassification::take(const Tensor& logits, const Batch& batch, Predictions& predictions) const {
  const Ragged shape = batch.target.view();
  for (std::size_t s = 0; s < static_cast<std::size_t>(shape.sequences()); ++s) {
    predictions.predicted.emplace_back();
    predictions.truth.emplace_back();
    for (std::int32_t t = shape.offsets[s]; t < shape.offsets[s + 1]; ++t) {
      const std::int32_t label = batch.labels[static_cast<std::size_t>(t)];
      if (label == kIgnoredLabel) continue;
      const float* row = logits.row(t);
      const auto best = static_cast<std::int32_t>(std::max_element(row, row + logits.columns()) - row);
      predictions.predicted_ids.push_back(best);
      predictions.truth_ids.push_back(label);
      predictions.predicted.back().push_back(labels_[best]);
      predictions.truth.back().push_back(labels_[label]);
    }
  }
}

void TokenClassification::measure(const Predictions& predictions, ValidationReport& report) const {
  const auto add = [&](const MetricKind& kind, double value) { report.metrics.push_back({kind, value}); };
  if (config_.wants(kEntityF1.name))
    add(kEntityF1, metrics::entity_scores(predictions.predicted, predictions.truth).micro.f1);
  if (config_.wants(kAccuracy.name))
    add(kAccuracy, metrics::accuracy(predictions.predicted_ids, predictions.truth_ids));
  if (config_.wants(kMacroF1.name))
    add(kMacroF1,
        metrics::precision_recall(predictions.predicted_ids, predictions.truth_ids,
                                  static_cast<std::int32_t>(labels_.size()), metrics::Average::macro)
            .f1);
}

void TokenClassification::validate(Network& model, const PassResources& resources,
                                   ValidationReport& report) const {
  Predictions predictions;
  PredictionPass pass(model, resources);
  pass.run(
      valid_.examples.ids, [&](Batch& batch, std::size_t i) { append(valid_, batch, i, i); },
      [&](Tape& tape, const Batch& batch, std::size_t, std::size_t) {
        Var logits = head_output(model, tape, batch);
        take(logits->value, batch, predictions);
        predictions.loss +=
            static_cast<double>(label_loss(tape, logits, batch, weights_, {})->value.f32()[0]);
        predictions.weight += batch.weight();
      });
  set_loss(predictions.weight == 0.0 ? 0.0 : predictions.loss / predictions.weight, report);
  measure(predictions, report);
  set_confusion(predictions.predicted_ids, predictions.truth_ids, labels_, report);
  const auto samples = std::min(static_cast<std::size_t>(config_.validation.samples), valid_.examples.size());
  for (std::size_t i = 0; i < samples; ++i)
    report.samples.push_back(
        {joined(valid_.sentences[i].words), joined(predictions.truth[i]), joined(predictions.predicted[i])});
}

std::string TokenClassification::example_text(const Batch& batch) const {
  const auto length = static_cast<std::size_t>(batch.target.view().offsets[1]);
  std::string labels;
  constexpr std::size_t kShown = 24;  // the number of tokens that tokens_text() shows
  for (std::size_t t = 0; t < std::min(length, kShown); ++t)
    labels += (t == 0 ? "" : " ") + (batch.labels[t] == kIgnoredLabel ? "-" : labels_[batch.labels[t]]);
  return fmt::format("  input:  {}\n  labels: {}{}\n",
                     tokens_text(*tokenizer_, std::span(batch.ids).first(length)), labels,
                     length > kShown ? " …" : "");
}

}  // namespace

std::vector<std::int32_t> first_tokens(const text::Encoding& encoding,
                                       const std::vector<std::string>& words) {
  std::vector<std::int32_t> first(encoding.size(), -1);
  // index of the first word that has no token yet, and byte offset of that word in the text
  std::size_t word = 0, begin = 0;
  for (std::size_t t = 0; t < encoding.size(); ++t) {
    const text::Offsets& bytes = encoding.byte_offsets[t];
    if (encoding.special_mask[t] != 0 || bytes.begin == bytes.end) continue;
    while (word < words.size() && begin + words[word].size() <= bytes.begin)
      begin += words[word++].size() + 1;
    if (word == words.size() || bytes.end <= begin) continue;
    first[t] = static_cast<std::int32_t>(word);
    begin += words[word++].size() + 1;
  }
  return first;
}

const TaskTraits& token_classification_traits() {
  static const TaskTraits traits =
      label_traits({.name = "token-classification",
                    .meaning = "predict a label for each word of a text",
                    .metrics = {kEntityF1, kAccuracy, kMacroF1, kLoss},
                    .corpus = {.plain = data::CorpusFormat::text, .aligned = false},
                    .example = {"data.train=[\"train.tsv\"]", "data.valid=[\"valid.tsv\"]",
                                "data.columns=[1, 2]", "validation.metrics=[\"loss\", \"accuracy\"]"},
                    .verb = "tag",
                    .make = new_task<TokenClassification>});
  return traits;
}

}  // namespace regard::train
