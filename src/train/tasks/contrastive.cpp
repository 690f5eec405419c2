#include "train/tasks/contrastive.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "data/picture_preview.h"
#include "metrics/retrieval.h"
#include "models/dual_encoder.h"
#include "models/weights.h"
#include "ops/unit_rows.h"
#include "train/batch_preview.h"
#include "train/encoder_task.h"
#include "train/media_traits.h"
#include "train/new_families.h"
#include "train/pictures.h"
#include "train/retrieval.h"

namespace regard::train {
namespace {

class Contrastive : public Task {
 public:
  explicit Contrastive(const RunConfig& config) : Task(config), input_(config.images) {}

  const TaskTraits& traits() const override { return contrastive_traits(); }
  void check() const override { check_pictures(config_, "the path of an image and its text"); }
  SequenceLimit longest_sequence() const override {
    return {"data.max_length", config_.data.max_length, ": longer texts are truncated"};
  }
  void read() override { rows_ = read_pictures(config_); }
  Tokenizers train_tokenizers(ThreadPool& pool) const override;
  Json model_config(const Tokenizers& tokenizers) const override;
  std::unique_ptr<Network> load_model(const formats::ModelFolder& folder) override;
  void check_model(Network& model, const Tokenizers&) const override {
    if (dual_encoder_of(model) == nullptr)
      throw unfit_model(config_, "a model with a text and an image encoder, such as clip");
  }
  void load(const Tokenizers& tokenizers, ThreadPool& pool) override;
  std::unique_ptr<BatchSource> batches() const override {
    return example_batches(
        train_.pictures.size(), config_.training.batch_size, static_cast<std::uint64_t>(config_.seed),
        [this](Batch& batch, std::size_t i, std::uint64_t epoch, std::uint64_t index) {
          batch.add_source_input(train_.pictures.augmented(i, config_, epoch), input_.positions(), index);
          add_text(train_, batch, i, index);
          batch.labels.push_back(static_cast<std::int32_t>(batch.labels.size()));
        },
        train_.pictures.sources(config_));
  }
  Var loss(Network& model, Tape& tape, const Batch& batch, const LossOptions& options) const override {
    DualEncoder& both = *dual_encoder_of(model);
    const float pairs = static_cast<float>(batch.sequences());
    return both.contrastive_loss(tape, texts_of(both, tape, batch), images_of(both, tape, batch),
                                 options.factor * pairs);
  }
  void validate(Network& model, const PassResources& resources, ValidationReport& report) const override;
  Json generation_config() const override { return nullptr; }
  std::vector<std::pair<std::string, std::string>> files(const Network&) const override {
    return input_.files();
  }
  std::string example_text(const Batch& batch) const override {
    return fmt::format("  text: {}\n", tokens_text(*tokenizer_, part_of(batch.ids, batch, 0)));
  }
  std::string preview(const Batch& batch, std::size_t sequence) const override {
    return data::picture_preview(batch.source_inputs[sequence]) +
           fmt::format("  text: {}\n", tokens_text(*tokenizer_, part_of(batch.ids, batch, sequence)));
  }

 private:
  struct Part {
    Pictures pictures;
    Examples texts;
  };

  void load_part(const char* what, data::PictureRows rows, ThreadPool& pool, Part& part);
  void add_text(const Part& part, Batch& batch, std::size_t i, std::uint64_t index) const;
  // Return the vectors [sequences, size] of the texts or images of a batch, scaled to Euclidean norm 1.
  static Var texts_of(DualEncoder& model, Tape& tape, const Batch& batch) {
    Var hidden = model.encode(tape, batch.target_batch());
    return ops::unit_rows(tape, model.text_vectors(tape, hidden, batch.target_batch()));
  }
  static Var images_of(DualEncoder& model, Tape& tape, const Batch& batch) {
    Var hidden = model.encode(tape, batch.source_batch());
    return ops::unit_rows(tape, model.image_vectors(tape, hidden, batch.source_batch()));
  }
  double mean_loss(DualEncoder& model, const PassResources& resources, const Tensor& texts,
                   const Tensor& images) const;

  PictureSplit rows_;  // rows of the data; load() moves them to train_ and valid_
  PictureInput input_;
  // A text of padding tokens only. add_text() copies a shorter text over its first tokens.
  std::vector<std::int32_t> padding_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  Part train_, valid_;
};

Tokenizers Contrastive::train_tokenizers(ThreadPool& pool) const {
  const auto trained = train_tokenizer(config_, row_texts(rows_.train.rows), Marks::bert, pool);
  return {trained, trained};
}

// CLIP computes the vector of a text from the last hidden state of its first end token. If the id of the end
// token is 2, CLIP uses another rule, so this id is not allowed.
Json Contrastive::model_config(const Tokenizers& tokenizers) const {
  const SpecialIds special = special_ids(*tokenizers.target);
  if (special.end < 0 || special.end == 2)
    throw usage_error("the tokenizer does not fit a new CLIP model")
        .found(special.end < 0 ? "no end token" : "an end token with the id 2")
        .expected("an end token ([SEP], </s>) after each text, with an id other than 2");
  return find_new_family(config_.model.family)
      ->config({config_.model.transformer, tokenizers.target->vocabulary_size(), special,
                config_.data.max_length, &config_.images});
}

std::unique_ptr<Network> Contrastive::load_model(const formats::ModelFolder& folder) {
  std::unique_ptr<Network> model = models::load_model(folder);
  DualEncoder* both = dual_encoder_of(*model);
  if (both == nullptr) throw unfit_model(config_, "a model with a text and an image encoder, such as clip");
  input_.take(folder, both->vision().input_spec());
  both->pad(padding_);
  return model;
}

void Contrastive::load_part(const char* what, data::PictureRows rows, ThreadPool& pool, Part& part) {
  part.pictures.load(std::move(rows), input_, config_);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < part.pictures.size(); ++i) texts.push_back(part.pictures.row(i).text);
  part.texts = encode_examples(*tokenizer_, texts, {}, config_.data.max_length, pool);
  std::string note = fmt::format("{}: {}, {} of texts; read {}", what, counted(part.pictures.size(), "image"),
                                 counted(part.texts.ids.tokens(), "token"), part.pictures.report().text());
  if (part.texts.truncated > 0)
    note += fmt::format("; {} truncated to {}", counted(part.texts.truncated, "text"),
                        counted(config_.data.max_length, "token"));
  notes_.push_back(note);
  fingerprint_ = fingerprint_ * 3 + part.pictures.fingerprint();
  fingerprint_ = fingerprint_ * 3 + part.texts.ids.fingerprint();
}

void Contrastive::load(const Tokenizers& tokenizers, ThreadPool& pool) {
  tokenizer_ = tokenizers.target;
  if (config_.model.from.empty()) {
    const auto model = make_model(model_config(tokenizers), "[model]");
    input_.set_spec(dual_encoder_of(*model)->vision().input_spec());
  }
  load_part("training", std::move(rows_.train), pool, train_);
  load_part("validation", std::move(rows_.valid), pool, valid_);
  if (!rows_.duplicates.empty()) notes_.push_back(rows_.duplicates);
  if (train_.pictures.size() == 0) throw nothing_left(config_, "train");
  if (valid_.pictures.size() == 0) throw nothing_left(config_, "validate");
}

void Contrastive::add_text(const Part& part, Batch& batch, std::size_t i, std::uint64_t index) const {
  const std::span<const std::int32_t> text = part.texts.ids[i];
  if (text.size() >= padding_.size()) return batch.add_text(text, {}, index);
  std::vector<std::int32_t> padded = padding_;
  std::copy(text.begin(), text.end(), padded.begin());
  batch.add_text(padded, {}, index);
}

// Return the mean loss over the validation pairs, computed in micro-batches of consecutive pairs.
double Contrastive::mean_loss(DualEncoder& model, const PassResources& resources, const Tensor& texts,
                              const Tensor& images) const {
  double sum = 0;
  Tape tape(resources.pool, resources.arena);
  for (std::int64_t begin = 0; begin < texts.rows(); begin += config_.training.batch_size) {
    const std::int64_t end = std::min(begin + config_.training.batch_size, texts.rows());
    tape.begin({});
    Var loss = model.contrastive_loss(tape, tape.constant(texts.slice_rows(begin, end)),
                                      tape.constant(images.slice_rows(begin, end)));
    sum += static_cast<double>(loss->value.f32()[0]) * static_cast<double>(end - begin);
  }
  return sum / static_cast<double>(texts.rows());
}

void Contrastive::validate(Network& model, const PassResources& resources, ValidationReport& report) const {
  DualEncoder& both = *dual_encoder_of(model);
  const std::size_t count = valid_.pictures.size();
  Tensor texts = Tensor::empty({static_cast<std::int64_t>(count), both.size()});
  Tensor images = Tensor::empty({static_cast<std::int64_t>(count), both.size()});
  const auto store = [](const Tensor& from, std::size_t begin, Tensor& to) {
    std::copy_n(from.f32(), from.elements(), to.row(static_cast<std::int64_t>(begin)));
  };
  PredictionPass pass(model, resources);
  pass.run(
      count, std::max<std::int64_t>(std::ssize(padding_), config_.data.max_length),
      [&](Batch& batch, std::size_t i) { add_text(valid_, batch, i, i); },
      [&](Tape& tape, const Batch& batch, std::size_t begin, std::size_t) {
        store(texts_of(both, tape, batch)->value, begin, texts);
      });
  pass.run(
      count, input_.positions(),
      [&](Batch& batch, std::size_t i) {
        batch.add_source_input(valid_.pictures.pixels(i), input_.positions(), i);
      },
      [&](Tape& tape, const Batch& batch, std::size_t begin, std::size_t) {
        store(images_of(both, tape, batch)->value, begin, images);
      });
  set_loss(mean_loss(both, resources, texts, images), report);
  std::vector<std::string> names;  // a different name for each image, so that each is a separate candidate
  for (std::size_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  const Retrieval found = retrieve(resources.pool, texts, images, names);
  for (const auto& [metric, k] : {std::pair(kRecall1, 1), {kRecall5, 5}, {kRecall10, 10}})
    if (config_.wants(metric.name)) report.metrics.push_back({metric, metrics::recall_at(found.ranks, k)});
  if (config_.wants(kReciprocalRank.name))
    report.metrics.push_back({kReciprocalRank, metrics::mean_reciprocal_rank(found.ranks)});
  for (std::size_t i = 0; i < std::min(static_cast<std::size_t>(config_.validation.samples), count); ++i)
    report.samples.push_back({valid_.pictures.row(i).text, valid_.pictures.row(i).name(),
                              valid_.pictures.row(found.best[i]).name()});
}

}  // namespace

const TaskTraits& contrastive_traits() {
  static const TaskTraits traits = picture_traits(
      {.name = "contrastive",
       .meaning = "compute similar vectors for an image and a text that describes it",
       .keys = {"data.max_length", "model.layers"},
       .metrics = {kRecall1, kRecall5, kRecall10, kReciprocalRank, kLoss},
       .corpus = {.plain = data::CorpusFormat::lines, .aligned = true, .folders = true},
       .families = {"clip"},
       .example = {"data.max_length=64", "tokenizer.type=wordpiece", "tokenizer.lower_case=true",
                   "model.family=clip", "model.layers=4", "images.size=48", "images.patch_size=6",
                   "training.batch_size=64", "validation.metrics=[\"loss\", \"recall_at_1\"]"},
       .verb = "embed",
       .labels = "pairs",
       .make = new_task<Contrastive>});
  return traits;
}

}  // namespace regard::train
