#include "train/tasks/captioning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "data/picture_preview.h"
#include "infer/folder_options.h"
#include "metrics/bleu.h"
#include "metrics/exact_text.h"
#include "models/weights.h"
#include "train/batch_preview.h"
#include "train/encode.h"
#include "train/examples.h"
#include "train/media_traits.h"
#include "train/new_families.h"
#include "train/pictures.h"

namespace regard::train {
namespace {

constexpr MetricKind kExactCaption{"exact_match", "exact match", 4, true};
constexpr MetricKind kCaptionBleu{"bleu", "BLEU", 2, true};
// number of images that are decoded together; captions do not depend on it
constexpr std::size_t kDecodedTogether = 64;

class Captioning : public Task {
 public:
  explicit Captioning(const RunConfig& config) : Task(config), input_(config.images) {}

  const TaskTraits& traits() const override { return captioning_traits(); }
  void check() const override { check_pictures(config_, "the path of an image and its caption"); }
  SequenceLimit longest_sequence() const override {
    return {"data.max_length", config_.data.max_length, ": images with longer captions are skipped"};
  }
  void read() override { rows_ = read_pictures(config_); }
  Tokenizers train_tokenizers(ThreadPool& pool) const override {
    const auto trained = train_tokenizer(config_, row_texts(rows_.train.rows), Marks::sentence, pool);
    return {trained, trained};
  }
  Json model_config(const Tokenizers& tokenizers) const override {
    return find_new_family(config_.model.family)
        ->config({config_.model.transformer, tokenizers.target->vocabulary_size(),
                  special_ids(*tokenizers.target), config_.data.max_length, &config_.images});
  }
  std::unique_ptr<Network> load_model(const formats::ModelFolder& folder) override;
  void check_model(Network& model, const Tokenizers&) const override {
    if (model.kind() != ModelKind::encoder_decoder || model.input_spec().kind != InputKind::pixels)
      throw unfit_model(config_, "an encoder-decoder that reads images");
  }
  void load(const Tokenizers& tokenizers, ThreadPool& pool) override;
  std::unique_ptr<BatchSource> batches() const override {
    return example_batches(
        train_.pictures.size(), config_.training.batch_size, static_cast<std::uint64_t>(config_.seed),
        [this](Batch& batch, std::size_t i, std::uint64_t epoch, std::uint64_t index) {
          append(train_, train_.pictures.augmented(i, config_, epoch), batch, i, index);
        },
        train_.pictures.sources(config_));
  }
  Var loss(Network& model, Tape& tape, const Batch& batch, const LossOptions& options) const override {
    return next_token_loss(model, tape, batch, options);
  }
  void validate(Network& model, const PassResources& resources, ValidationReport& report) const override;
  Json generation_config() const override {
    Json json = special_json(special_);
    json["decoder_start_token_id"] = special_.decoder_start;
    json["num_beams"] = config_.validation.beam;
    json["length_penalty"] = config_.validation.length_penalty;
    return json;
  }
  std::vector<std::pair<std::string, std::string>> files(const Network&) const override {
    return input_.files();
  }
  std::string example_text(const Batch& batch) const override { return next_token_text(*tokenizer_, batch); }
  std::string preview(const Batch& batch, std::size_t sequence) const override {
    return data::picture_preview(batch.source_inputs[sequence]) +
           next_token_preview({*tokenizer_}, batch, sequence);
  }

 private:
  struct Part {
    Pictures pictures;
    data::TokenStore captions;  // token ids of the captions, with the end token
  };

  void load_part(const char* what, data::PictureRows rows, ThreadPool& pool, Part& part);
  void append(const Part& part, const Tensor& pixels, Batch& batch, std::size_t i,
              std::uint64_t index) const {
    batch.add_source_input(pixels, input_.positions(), index);
    batch.add_target(part.captions[i], special_.decoder_start, index);
  }
  std::vector<std::string> captions(Network& model, const PassResources& resources, std::size_t count) const;
  void measure(const std::vector<std::string>& outputs, std::size_t scored, ValidationReport& report) const;

  PictureSplit rows_;  // rows of the data; load() moves them to train_ and valid_
  PictureInput input_;
  SpecialIds folder_special_;  // start and end token of model.from; −1 if missing
  SpecialIds special_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  Part train_, valid_;
};

std::unique_ptr<Network> Captioning::load_model(const formats::ModelFolder& folder) {
  std::unique_ptr<Network> model = models::load_model(folder);
  if (model->input_spec().kind != InputKind::pixels)
    throw unfit_model(config_, "an encoder-decoder that reads images");
  input_.take(folder, model->input_spec());
  const infer::SearchOptions options = infer::search_options_of(folder);
  folder_special_.decoder_start = options.start_token;
  if (!options.end_tokens.empty()) folder_special_.end = options.end_tokens[0];
  return model;
}

void Captioning::load_part(const char* what, data::PictureRows rows, ThreadPool& pool, Part& part) {
  std::vector<std::string> texts;
  for (const data::PictureRow& row : rows.rows) texts.push_back(row.text);
  std::vector<std::vector<std::int32_t>> all =
      encode_all(*tokenizer_, texts, {.add_special = true, .match_special = false}, pool);
  std::vector<data::PictureRow> kept;
  std::vector<std::vector<std::int32_t>> ids;
  for (std::size_t i = 0; i < all.size(); ++i) {
    end_with(all[i], special_.end);
    if (all[i].empty() || std::ssize(all[i]) > config_.data.max_length) {
      --rows.report.records;
      rows.report.skip(all[i].empty() ? data::SkipReason::rejected : data::SkipReason::too_many_tokens,
                       rows.rows[i].place);
      continue;
    }
    rows.rows[i].id = ids.size();
    kept.push_back(std::move(rows.rows[i]));
    ids.push_back(std::move(all[i]));
  }
  rows.rows = std::move(kept);
  part.pictures.load(std::move(rows), input_, config_);
  for (std::size_t i = 0; i < part.pictures.size(); ++i) part.captions.add(ids[part.pictures.row(i).id]);
  notes_.push_back(fmt::format("{}: {}, {} of captions; read {}", what,
                               counted(part.pictures.size(), "image"),
                               counted(part.captions.tokens(), "token"), part.pictures.report().text()));
  fingerprint_ = fingerprint_ * 3 + part.pictures.fingerprint();
  fingerprint_ = fingerprint_ * 3 + part.captions.fingerprint();
}

void Captioning::load(const Tokenizers& tokenizers, ThreadPool& pool) {
  tokenizer_ = tokenizers.target;
  special_ = special_ids(*tokenizer_);
  if (folder_special_.decoder_start >= 0) special_.decoder_start = folder_special_.decoder_start;
  if (folder_special_.end >= 0) special_.end = folder_special_.end;
  if (special_.decoder_start < 0)
    throw usage_error("the tokenizer has no start token for captions")
        .expected("one of the tokens <s>, <pad> and </s>");
  if (config_.model.from.empty())
    input_.set_spec(make_model(model_config(tokenizers), "[model]")->input_spec());
  load_part("training", std::move(rows_.train), pool, train_);
  load_part("validation", std::move(rows_.valid), pool, valid_);
  if (!rows_.duplicates.empty()) notes_.push_back(rows_.duplicates);
  if (train_.pictures.size() == 0) throw nothing_left(config_, "train");
  if (valid_.pictures.size() == 0) throw nothing_left(config_, "validate");
}

std::vector<std::string> Captioning::captions(Network& model, const PassResources& resources,
                                              std::size_t count) const {
  std::vector<std::string> texts;
  for (std::size_t first = 0; first < count; first += kDecodedTogether) {
    std::vector<ModelInput> inputs;
    for (std::size_t i = first; i < std::min(first + kDecodedTogether, count); ++i)
      inputs.emplace_back(valid_.pictures.pixels(i));
    for (std::string& text : decode_sources(model, resources.pool, inputs, *tokenizer_,
                                            {.beam = config_.validation.beam,
                                            .length_penalty = config_.validation.length_penalty,
                                            .stop = resources.stop,
                                            .special = &special_}))
      texts.push_back(std::move(text));
  }
  return texts;
}

void Captioning::measure(const std::vector<std::string>& outputs, std::size_t scored,
                         ValidationReport& report) const {
  const auto samples = static_cast<std::size_t>(config_.validation.samples);
  for (std::size_t i = 0; i < std::min(samples, outputs.size()); ++i)
    report.samples.push_back({valid_.pictures.row(i).name(), valid_.pictures.row(i).text, outputs[i]});
  if (scored == 0) return;
  const std::vector<std::string> texts(outputs.begin(),
                                       outputs.begin() + static_cast<std::ptrdiff_t>(scored));
  std::vector<std::vector<std::string>> references(1);
  for (std::size_t i = 0; i < scored; ++i) references[0].push_back(valid_.pictures.row(i).text);
  if (config_.wants(kExactCaption.name))
    report.metrics.push_back({kExactCaption, metrics::exact_match(texts, references[0])});
  if (!config_.wants(kCaptionBleu.name)) return;
  metrics::BleuOptions options;
  options.lowercase = config_.validation.lower_case;
  report.metrics.push_back({kCaptionBleu, metrics::corpus_bleu(texts, references, options).score});
  report.details.emplace_back("bleu_signature", metrics::bleu_signature(options, 1));
}

void Captioning::validate(Network& model, const PassResources& resources, ValidationReport& report) const {
  set_loss(example_loss(
               model, resources, valid_.pictures.size(),
               [&](Batch& batch, std::size_t i) { append(valid_, valid_.pictures.pixels(i), batch, i, i); })
               .mean(),
           report);
  report.metrics.push_back({kPerplexity, std::exp(report.loss)});
  const bool measured = config_.wants(kExactCaption.name) || config_.wants(kCaptionBleu.name);
  const std::size_t all = valid_.pictures.size();
  const auto most = static_cast<std::size_t>(config_.validation.max_sentences);
  const std::size_t scored = !measured ? 0 : most == 0 ? all : std::min(most, all);
  const std::size_t count =
      std::min(std::max(scored, static_cast<std::size_t>(config_.validation.samples)), all);
  if (count > 0) measure(captions(model, resources, count), scored, report);
}

}  // namespace

const TaskTraits& captioning_traits() {
  static const TaskTraits traits =
      picture_traits({.name = "captioning",
                      .meaning = "generate the caption of an image",
                      .keys = {"data.max_length", "model.encoder_layers", "model.decoder_layers",
                               "validation.beam", "validation.length_penalty"},
                      .metrics = {kExactCaption, kCaptionBleu, kLoss},
                      .corpus = {.plain = data::CorpusFormat::lines, .aligned = true, .folders = true},
                      .families = {"vision-encoder-decoder"},
                      .example = {"data.max_length=64", "model.family=vision-encoder-decoder",
                                  "model.encoder_layers=4", "model.decoder_layers=2", "images.size=48",
                                  "images.patch_size=6", "training.batch_size=32", "validation.beam=1",
                                  "validation.metrics=[\"loss\", \"exact_match\", \"bleu\"]"},
                      .verb = "caption",
                      .make = new_task<Captioning>});
  return traits;
}

}  // namespace regard::train
