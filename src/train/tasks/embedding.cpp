#include "train/tasks/embedding.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/hash.h"
#include "data/duplicates.h"
#include "metrics/correlation.h"
#include "metrics/retrieval.h"
#include "ops/embedding.h"
#include "ops/normalize_rows.h"
#include "ops/parameter.h"
#include "ops/pool_tokens.h"
#include "train/batch_preview.h"
#include "train/embedding_loss.h"
#include "train/encoder_task.h"
#include "train/labeled_rows.h"
#include "train/retrieval.h"
#include "train/sentence_files.h"

namespace regard::train {
namespace {

// Pool `hidden` [tokens, features] to [sequences, features].
Var pooled(Tape& tape, Var hidden, const Ragged& shape, const std::string& pooling) {
  if (pooling == "mean") return ops::mean_over_time(tape, hidden, shape);
  if (pooling == "max") return ops::max_over_time(tape, hidden, shape);
  return ops::select_rows(tape, hidden, shape.offsets.first(static_cast<std::size_t>(shape.sequences())));
}

class EmbeddingTask : public EncoderTask {
 public:
  explicit EmbeddingTask(const RunConfig& config)
      : EncoderTask(config), kind_(embedding_loss_kind(config.embedding.loss)) {}

  const TaskTraits& traits() const override { return embedding_traits(); }
  void check() const override;
  void read() override;
  std::unique_ptr<Network> load_model(const formats::ModelFolder& folder) override;
  void check_model(Network& model, const Tokenizers&) const override {
    if (model.kind() != ModelKind::encoder) throw unfit_model(config_, "an encoder");
  }
  std::vector<std::string> untrained(Network& model) const override;
  void load(const Tokenizers& tokenizers, ThreadPool& pool) override;
  Var loss(Network& model, Tape& tape, const Batch& batch, const LossOptions& options) const override {
    return embedding_loss(tape, vectors(model, tape, batch), width(), batch, config_.embedding, options);
  }
  void validate(Network& model, const PassResources& resources, ValidationReport& report) const override;
  std::vector<std::pair<std::string, std::string>> files(const Network& model) const override {
    const EmbeddingConfig& embedding = config_.embedding;
    return SentenceFiles{embedding.pooling, embedding.normalize, model.hidden_size(), config_.data.max_length}
        .files();
  }
  std::string example_text(const Batch& batch) const override { return preview(batch, 0); }
  std::string preview(const Batch& batch, std::size_t row) const override;

 protected:
  HeadNeed head() const override { return {"Model", Output::pooled, {}, ""}; }
  std::size_t training_examples() const override { return train_.rows(); }
  void append(Batch& batch, std::size_t row, std::uint64_t, std::uint64_t index) const override {
    append(train_, batch, row, index);
  }
  text::LineSource training_texts() const override {
    return [this, at = std::size_t{0}](std::string& line) mutable {
      if (at == train_.rows() * train_.texts.size()) return false;
      line = train_.texts[at % train_.texts.size()][at / train_.texts.size()];
      ++at;
      return true;
    };
  }

 private:
  struct Part {
    std::vector<std::vector<std::string>> texts;  // [column][row]
    std::vector<float> scores;                    // score of each row; only for EmbeddingLoss::cosine
    data::RowReport report;
    std::vector<Examples> columns;  // encoded texts, by column

    std::size_t rows() const { return texts.empty() ? 0 : texts[0].size(); }
    void add(const std::vector<std::string>& row) {
      texts.resize(row.size());
      for (std::size_t c = 0; c < row.size(); ++c) texts[c].push_back(row[c]);
    }
  };

  // Return the number of texts per row: 3 if each row has a negative example (a text of different meaning),
  // otherwise 2.
  std::size_t width() const { return train_.columns.size(); }
  void read_records(const std::vector<std::string>& files, data::SplitDuplicates& duplicates);
  void encode(Part& part, const text::Tokenizer& tokenizer, ThreadPool& pool) const;
  void note(const char* what, const Part& part);
  void append(const Part& part, Batch& batch, std::size_t row, std::uint64_t index) const;
  Var vectors(Network& model, Tape& tape, const Batch& batch) const;
  Tensor embed(Network& model, PredictionPass& pass, const Examples& texts) const;
  double mean_loss(const PassResources& resources, const std::vector<Tensor>& columns) const;
  void measure_retrieval(ThreadPool& pool, const std::vector<Tensor>& columns,
                         ValidationReport& report) const;
  void measure_scores(const std::vector<Tensor>& columns, ValidationReport& report) const;

  EmbeddingLoss kind_;
  Part train_, valid_;
  std::string duplicates_;  // message about rows that occur in both training and validation data; may be ""
  std::shared_ptr<const text::Tokenizer> tokenizer_;
};

void EmbeddingTask::check() const {
  EncoderTask::check();
  const std::size_t least = kind_ == EmbeddingLoss::ranking ? 2 : 3;
  for (const auto* files : {&config_.data.train, &config_.data.valid}) {
    if (files->empty()) continue;
    const data::TableFormat format = corpus_format(config_, files->front());
    const bool table = data::has_columns(format);
    const std::size_t columns = table ? corpus_columns(config_, files->front()).size() : files->size();
    if (format != data::TableFormat::text && columns >= least && columns <= 3) continue;
    throw usage_error(
        table ? fmt::format("'{}' does not fit 'embedding.loss'", corpus_columns_key(config_, files->front()))
              : "the files do not fit 'embedding.loss'")
        .found(counted(columns, table ? "column" : "file"))
        .expected(kind_ == EmbeddingLoss::ranking
                      ? "for ranking: a text, a text of equal meaning and, optionally, a dissimilar text"
                  : kind_ == EmbeddingLoss::cosine
                      ? "for cosine: two texts and a number"
                      : "for triplet: a text, a similar text and a dissimilar text");
  }
  for (const std::string& metric : config_.validation.metrics) {
    const bool of_numbers = metric == kPearson.name || metric == kSpearman.name;
    if (metric == kLoss.name || of_numbers == (kind_ == EmbeddingLoss::cosine)) continue;
    throw usage_error("'validation.metrics' contains '" + metric +
                      "', which is not a metric for embedding.loss = \"" + config_.embedding.loss + "\"");
  }
  if (config_.training.label_smoothing > 0 && kind_ != EmbeddingLoss::ranking)
    throw usage_error("'training.label_smoothing' requires embedding.loss = \"ranking\"")
        .found(config_.embedding.loss);
}

void EmbeddingTask::read_records(const std::vector<std::string>& files, data::SplitDuplicates& duplicates) {
  const bool validation = &files == &config_.data.valid;
  RecordReader records(config_, files);
  while (records.next()) {
    const bool valid = validation || records.held_out();
    Part& part = valid ? valid_ : train_;
    if (!part.texts.empty() && part.texts.size() != records.texts().size())
      throw usage_error("the rows have different numbers of texts")
          .at(records.place())
          .found(counted(records.texts().size(), "text"))
          .expected(std::to_string(part.texts.size()) + " texts, as in the first row");
    part.add(records.texts());
    if (!validation) sources_.set(records.corpus(), train_.rows());
    if (validation)
      duplicates.add_validation(records.texts(), records.place());
    else
      duplicates.check_training(records.texts(), records.place());
  }
  (validation ? valid_ : train_).report = records.report();
}

void EmbeddingTask::read() {
  const bool split = config_.data.valid.empty();
  if (kind_ != EmbeddingLoss::cosine) {
    data::SplitDuplicates duplicates;
    if (!split) read_records(config_.data.valid, duplicates);
    read_records(config_.data.train, duplicates);
    duplicates_ = duplicates.text();
    if (split) valid_.report = train_.report;
    return;
  }
  RowSplit rows = read_labeled_rows(config_, Problem::regression);
  duplicates_ = rows.duplicates;
  sources_ = rows.train.sources;
  train_.report = rows.train_report, valid_.report = rows.valid_report;
  for (auto [part, of] : {std::pair(&train_, &rows.train), std::pair(&valid_, &rows.valid)}) {
    part->texts = {std::move(of->first), std::move(of->second)};
    part->scores = std::move(of->values);
  }
}

std::unique_ptr<Network> EmbeddingTask::load_model(const formats::ModelFolder& folder) {
  if (has_dense_module(folder.path))
    throw usage_error("the model in " + folder.path.string() +
                      " has a dense layer after the pooling, which cannot be trained")
        .remedy("Use a folder without a dense layer");
  return EncoderTask::load_model(folder);
}

// The pooler of a base model is not trained, because vectors are pooled from the last hidden states.
std::vector<std::string> EmbeddingTask::untrained(Network& model) const {
  std::vector<std::string> names;
  for (const Parameter* parameter : model.parameters())
    if (parameter->name.find("pooler.") != std::string::npos) names.push_back(parameter->name);
  return names;
}

void EmbeddingTask::encode(Part& part, const text::Tokenizer& tokenizer, ThreadPool& pool) const {
  const bool trained = &part == &train_ || config_.data.valid.empty();
  for (const std::vector<std::string>& texts : part.texts) {
    part.columns.push_back(encode_examples(tokenizer, texts, {}, config_.data.max_length, pool));
    for (std::size_t row = 0; row < texts.size(); ++row)
      if (part.columns.back().ids.length(row) == 0)
        throw Error(ErrorKind::bad_file,
                    fmt::format("a text of 'data.{}' has no tokens", trained ? "train" : "valid"))
            .found("\"" + texts[row] + "\"")
            .remedy("Remove its row, or use a tokenizer that knows its characters");
  }
}

void EmbeddingTask::note(const char* what, const Part& part) {
  std::size_t tokens = 0;
  std::int64_t truncated = 0;
  for (const Examples& column : part.columns) {
    tokens += column.ids.tokens();
    truncated += column.truncated;
    fingerprint_ = fingerprint_ * 3 + column.ids.fingerprint();
  }
  fingerprint_ = fingerprint_ * 3 + xxh3(std::as_bytes(std::span(part.scores)));
  std::string note =
      fmt::format("{}: {} of {}, {}; read {}", what, counted(part.rows(), "row"),
                  counted(part.texts.size(), "text"), counted(tokens, "token"), part.report.text());
  if (truncated > 0)
    note += fmt::format("; {} truncated to {}", counted(truncated, "text"),
                        counted(config_.data.max_length, "token"));
  notes_.push_back(note);
}

void EmbeddingTask::load(const Tokenizers& tokenizers, ThreadPool& pool) {
  tokenizer_ = tokenizers.target;
  for (const auto& [what, part] : {std::pair("training", &train_), {"validation", &valid_}}) {
    encode(*part, *tokenizer_, pool);
    note(what, *part);
  }
  if (!duplicates_.empty()) notes_.push_back(duplicates_);
  if (train_.rows() == 0) throw nothing_left(config_, "train");
  if (valid_.rows() == 0) throw nothing_left(config_, "validate");
  if (train_.texts.size() != valid_.texts.size())
    throw usage_error("'data.valid' and 'data.train' have different numbers of texts per row")
        .found(std::to_string(valid_.texts.size()) + " texts per row in 'data.valid'")
        .expected(std::to_string(train_.texts.size()) + " texts per row, as in 'data.train'");
}

// The texts of a row are consecutive in the batch. The label of row i in a micro-batch is i, because the
// correct candidate of row i has the index i.
void EmbeddingTask::append(const Part& part, Batch& batch, std::size_t row, std::uint64_t index) const {
  for (std::size_t c = 0; c < part.columns.size(); ++c)
    part.columns[c].append(batch, row, index * part.columns.size() + c);
  if (kind_ == EmbeddingLoss::cosine)
    batch.values.push_back(part.scores[row]);
  else
    batch.labels.push_back(static_cast<std::int32_t>(batch.labels.size()));
}

// Return the vectors [texts, hidden size] of the texts in a batch.
Var EmbeddingTask::vectors(Network& model, Tape& tape, const Batch& batch) const {
  Var hidden = model.encode(tape, batch.target_batch());
  Var vectors = pooled(tape, hidden, batch.target.view(), config_.embedding.pooling);
  return config_.embedding.normalize || compares_cosines(config_.embedding)
             ? ops::normalize_rows(tape, vectors)
             : vectors;
}

// Scale each row to Euclidean norm 1.
void normalize_in_place(const PassResources& resources, Tensor& rows) {
  Tape tape(resources.pool, resources.arena);
  tape.begin({});
  const Tensor unit = ops::normalize_rows(tape, tape.constant(rows))->value;
  std::copy_n(unit.f32(), unit.elements(), rows.f32());
}

// Return the vectors [texts, hidden size] of all texts.
Tensor EmbeddingTask::embed(Network& model, PredictionPass& pass, const Examples& texts) const {
  Tensor all = Tensor::empty({static_cast<std::int64_t>(texts.size()), model.hidden_size()});
  pass.run(
      texts.ids, [&](Batch& batch, std::size_t i) { texts.append(batch, i, i); },
      [&](Tape& tape, const Batch& batch, std::size_t begin, std::size_t) {
        const Tensor rows = vectors(model, tape, batch)->value;
        std::copy_n(rows.f32(), rows.elements(), all.row(static_cast<std::int64_t>(begin)));
      });
  return all;
}

// Return the mean loss over the validation rows, computed in micro-batches of consecutive rows.
double EmbeddingTask::mean_loss(const PassResources& resources, const std::vector<Tensor>& columns) const {
  const auto size = static_cast<std::size_t>(config_.training.batch_size);
  const std::int64_t features = columns[0].columns();
  double sum = 0;
  Tape tape(resources.pool, resources.arena);
  for (std::size_t begin = 0; begin < valid_.rows(); begin += size) {
    const std::size_t rows = std::min(size, valid_.rows() - begin);
    Tensor vectors = Tensor::empty({static_cast<std::int64_t>(rows * columns.size()), features});
    Batch batch;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t c = 0; c < columns.size(); ++c)
        std::copy_n(columns[c].row(static_cast<std::int64_t>(begin + i)), features,
                    vectors.row(static_cast<std::int64_t>(i * columns.size() + c)));
      if (kind_ == EmbeddingLoss::cosine) batch.values.push_back(valid_.scores[begin + i]);
      batch.labels.push_back(static_cast<std::int32_t>(i));
    }
    tape.begin({});
    Var loss = embedding_loss(tape, tape.constant(vectors), columns.size(), batch, config_.embedding, {});
    sum += static_cast<double>(loss->value.f32()[0]);
  }
  return sum / static_cast<double>(valid_.rows());
}

void EmbeddingTask::measure_retrieval(ThreadPool& pool, const std::vector<Tensor>& columns,
                                      ValidationReport& report) const {
  const Retrieval found = retrieve(pool, columns[0], columns[1], valid_.texts[1]);
  for (const auto& [metric, k] : {std::pair(kRecall1, 1), {kRecall5, 5}, {kRecall10, 10}})
    if (config_.wants(metric.name)) report.metrics.push_back({metric, metrics::recall_at(found.ranks, k)});
  if (config_.wants(kReciprocalRank.name))
    report.metrics.push_back({kReciprocalRank, metrics::mean_reciprocal_rank(found.ranks)});
  const std::size_t samples = std::min(static_cast<std::size_t>(config_.validation.samples), valid_.rows());
  for (std::size_t i = 0; i < samples; ++i)
    report.samples.push_back({valid_.texts[0][i], valid_.texts[1][i], valid_.texts[1][found.best[i]]});
}

void EmbeddingTask::measure_scores(const std::vector<Tensor>& columns, ValidationReport& report) const {
  const std::vector<double> predicted = paired_products(columns[0], columns[1]);
  const std::vector<double> truth(valid_.scores.begin(), valid_.scores.end());
  if (config_.wants(kPearson.name)) report.metrics.push_back({kPearson, metrics::pearson(predicted, truth)});
  if (config_.wants(kSpearman.name))
    report.metrics.push_back({kSpearman, metrics::spearman(predicted, truth)});
  const std::size_t samples = std::min(static_cast<std::size_t>(config_.validation.samples), truth.size());
  for (std::size_t i = 0; i < samples; ++i)
    report.samples.push_back({valid_.texts[0][i] + " | " + valid_.texts[1][i],
                              fmt::format("{:.4g}", truth[i]), fmt::format("{:.4g}", predicted[i])});
}

void EmbeddingTask::validate(Network& model, const PassResources& resources, ValidationReport& report) const {
  std::vector<Tensor> columns;
  PredictionPass pass(model, resources);
  for (const Examples& texts : valid_.columns) columns.push_back(embed(model, pass, texts));
  set_loss(mean_loss(resources, columns), report);
  // Normalise the vectors, because the metrics compare cosines. The saved folder also specifies cosines
  // (similarity_fn_name).
  if (!config_.embedding.normalize && !compares_cosines(config_.embedding))
    for (Tensor& column : columns) normalize_in_place(resources, column);
  if (kind_ == EmbeddingLoss::cosine)
    measure_scores(columns, report);
  else
    measure_retrieval(resources.pool, columns, report);
}

std::string EmbeddingTask::preview(const Batch& batch, std::size_t row) const {
  if (static_cast<std::int64_t>((row + 1) * width()) > batch.sequences()) return "";
  std::string text;
  for (std::size_t c = 0; c < width(); ++c)
    text += fmt::format("  text {}: {}\n", c + 1,
                        tokens_text(*tokenizer_, part_of(batch.ids, batch, row * width() + c)));
  if (!batch.values.empty()) text += fmt::format("  score:  {:.4g}\n", batch.values[row]);
  return text;
}

}  // namespace

const TaskTraits& embedding_traits() {
  static const TaskTraits traits =
      encoder_traits({.name = "embedding",
                      .meaning = "compute similar vectors for texts of equal meaning",
                      .keys = {"embedding.loss", "embedding.scale", "embedding.margin", "embedding.distance",
                               "embedding.pooling", "embedding.normalize"},
                      .metrics = {kRecall1, kRecall5, kRecall10, kReciprocalRank, kSpearman, kPearson, kLoss},
                      .corpus = {.plain = data::CorpusFormat::lines, .aligned = true},
                      .example = {"data.train=[\"train.tsv\"]", "data.valid=[\"valid.tsv\"]",
                                  "data.columns=[1, 2]", "embedding.loss=ranking", "embedding.scale=20.0",
                                  "embedding.pooling=mean", "validation.metrics=[\"loss\", \"recall_at_1\"]"},
                      .verb = "embed",
                      .labels = "rows",
                      .make = new_task<EmbeddingTask>});
  return traits;
}

}  // namespace regard::train
