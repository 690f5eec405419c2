#include "train/tasks/speech_recognition.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "infer/collector.h"
#include "metrics/word_error_rate.h"
#include "models/copy_weights.h"
#include "models/weights.h"
#include "ops/ctc_loss.h"
#include "train/encoder_task.h"
#include "train/examples.h"
#include "train/media_traits.h"
#include "train/new_families.h"
#include "train/sounds.h"
#include "train/speech_text.h"

namespace regard::train {
namespace {

constexpr MetricKind kWordErrors{"wer", "WER", 4, false};
constexpr MetricKind kCharacterErrors{"cer", "CER", 4, false};
// maximum number of frames of the sounds that are transcribed together; does not affect the transcripts
constexpr std::int64_t kPositionsAtOnce = 4096;

// In a batch for a CTC head, `target` holds the number of frames of each sound, `labels` holds the labels,
// and `source` holds the number of labels of each sound. A batch for Whisper is a translation batch with
// features as source.
class SpeechRecognition : public Task {
 public:
  explicit SpeechRecognition(const RunConfig& config) : Task(config), input_(config) {}

  const TaskTraits& traits() const override { return speech_recognition_traits(); }
  void check() const override { check_sounds(config_, "the path of an audio file and its text"); }
  SequenceLimit longest_sequence() const override {
    return {"data.max_length", config_.data.max_length, ": sounds with longer texts are skipped and counted"};
  }
  Tokenizers train_tokenizers(ThreadPool&) const override { return {}; }
  void read() override;
  Json model_config(const Tokenizers&) const override {
    return find_new_family(config_.model.family)
        ->config({config_.model.transformer, text_->vocabulary(), text_->special(), config_.data.max_length,
                  &config_.images, &config_.sound});
  }
  std::unique_ptr<Network> load_model(const formats::ModelFolder& folder) override;
  void check_model(Network& model, const Tokenizers& tokenizers) const override;
  void load(const Tokenizers& tokenizers, ThreadPool& pool) override;
  std::unique_ptr<BatchSource> batches() const override {
    return example_batches(
        train_.examples.size(), config_.training.batch_size, static_cast<std::uint64_t>(config_.seed),
        [this](Batch& batch, std::size_t i, std::uint64_t epoch, std::uint64_t index) {
          append(batch, train_.sounds.augmented(train_.examples[i], config_, epoch),
                 labels_of(train_, i, epoch), index);
        },
        data::weighted_sources(
            train_.examples.size(),
            [this](std::size_t i) { return train_.sounds.row(train_.examples[i]).source; },
            config_.data.weights));
  }
  Var loss(Network& model, Tape& tape, const Batch& batch, const LossOptions& options) const override {
    return ctc_ == nullptr ? next_token_loss(model, tape, batch, options)
                           : ctc_loss(model, tape, head_output(model, tape, batch), batch, options);
  }
  void validate(Network& model, const PassResources& resources, ValidationReport& report) const override;
  Json generation_config() const override {
    return whisper_ == nullptr ? Json(nullptr) : whisper_->generation_config();
  }
  std::vector<std::pair<std::string, std::string>> files(const Network&) const override {
    auto all = input_.files();
    for (auto& file : text_->files()) all.push_back(std::move(file));
    return all;
  }
  std::string example_text(const Batch& batch) const override { return preview(batch, 0); }
  std::string preview(const Batch& batch, std::size_t sequence) const override;

 private:
  struct Part {
    Sounds sounds;
    std::vector<std::size_t> examples;  // index of the sound of each example
    std::vector<std::string> texts;     // text of each example
    // number of sounds skipped because they are too short or their text is empty or too long
    std::int64_t skipped = 0;
  };

  static Var head_output(Network& model, Tape& tape, const Batch& batch) {
    const InputBatch sounds = batch.target_batch();
    return model.head(tape, model.encode(tape, sounds), sounds);
  }
  Var ctc_loss(Network& model, Tape& tape, Var logits, const Batch& batch, const LossOptions& options) const {
    const auto frames = model.output_shape(tape, batch.target.view()).offsets;
    return ops::ctc_loss(tape, logits, frames, batch.labels, batch.source.view().offsets,
                         {.blank = ctc_->blank(), .zero_infinity = true, .factor = options.factor});
  }
  void load_part(const char* what, SoundRows rows, ThreadPool& pool, Part& part);
  bool fits(const std::vector<std::int32_t>& labels, std::int64_t positions) const;
  std::vector<std::int32_t> labels_of(const Part& part, std::size_t i, std::uint64_t epoch) const;
  void append(Batch& batch, const Tensor& features, const std::vector<std::int32_t>& labels,
              std::uint64_t index) const;
  double loss_of_validation(Network& model, const PassResources& resources,
                            std::vector<std::string>& outputs) const;
  std::vector<std::string> transcripts(Network& model, const PassResources& resources) const;
  void note_unused_keys();

  SoundSplit rows_;  // rows of the data; load() moves them to train_ and valid_
  SoundInput input_;
  std::unique_ptr<SpeechText> text_;
  const WhisperText* whisper_ = nullptr;  // text_ if it is a WhisperText, otherwise null
  const CtcCharacters* ctc_ = nullptr;    // text_ if it is a CtcCharacters, otherwise null
  mutable InputSpec spec_;                // input format of the model
  Part train_, valid_;
};

void SpeechRecognition::read() {
  rows_ = read_sounds(config_);
  std::vector<std::string> texts;
  for (const SoundRow& row : rows_.train.rows) texts.push_back(row.text);
  std::string family = config_.model.family;
  std::optional<formats::ModelFolder> folder;
  if (!config_.model.from.empty()) {
    // A resumed run does not need the folder of model.from, because the checkpoint contains the vocabulary.
    folder = formats::ModelFolder::open(checkpoint_.empty() ? std::filesystem::path(config_.model.from)
                                                            : checkpoint_);
    family = require<std::string>(folder->config, "model_type", folder->config_file);
  }
  if (family == "wav2vec2") {
    const bool known = folder && std::filesystem::exists(folder->path / "vocab.json");
    auto text = known ? std::make_unique<CtcCharacters>(*folder) : std::make_unique<CtcCharacters>(texts);
    ctc_ = text.get(), text_ = std::move(text);
  } else if (family == "whisper") {
    ThreadPool one(1);
    auto text =
        folder ? std::make_unique<WhisperText>(*folder)
               : std::make_unique<WhisperText>(texts, config_.sound.vocabulary, config_.sound.seconds, one);
    whisper_ = text.get(), text_ = std::move(text);
  } else {
    throw unfit_model(config_, "whisper or wav2vec2").found("model_type \"" + family + "\"");
  }
}

// Report keys that a CTC model of model.from does not use. unused_keys.cpp does not know the model's family.
void SpeechRecognition::note_unused_keys() {
  const ValidationConfig defaults;
  const std::pair<const char*, bool> keys[] = {
      {"training.label_smoothing", config_.training.label_smoothing > 0},
      {"validation.beam", config_.validation.beam != defaults.beam},
      {"validation.length_penalty", config_.validation.length_penalty != defaults.length_penalty}};
  for (const auto& [key, is_set] : keys)
    if (is_set) notes_.push_back(fmt::format("'{}' has no effect: the model has a CTC head", key));
}

// If a wav2vec 2.0 folder has no vocab.json, the model gets a new head for the characters of the training
// texts.
std::unique_ptr<Network> SpeechRecognition::load_model(const formats::ModelFolder& folder) {
  if (ctc_ != nullptr) {
    refuse_feature_masks(config_.sound);
    note_unused_keys();
  }
  std::unique_ptr<Network> model;
  const bool has_head = ctc_ == nullptr || std::filesystem::exists(folder.path / "vocab.json");
  if (has_head) {
    model = models::load_model(folder);
  } else {
    Json config = folder.config;
    config["architectures"] = {"Wav2Vec2ForCTC"};
    config["vocab_size"] = ctc_->vocabulary(), config["pad_token_id"] = ctc_->blank();
    model = make_model(config, folder.config_file);
    initialise(*model, static_cast<std::uint64_t>(config_.seed));
    const std::unique_ptr<Network> base = models::load_model(folder);
    notes_.push_back(fmt::format("newly initialised weights (not in {}): {}", folder.path.string(),
                                 fmt::join(copy_weights(*base, *model, "lm_head."), ", ")));
  }
  input_.take(folder, model->input_spec());
  return model;
}

void SpeechRecognition::check_model(Network& model, const Tokenizers&) const {
  const bool fits = ctc_ != nullptr
                        ? model.output() == Output::ctc
                        : model.kind() == ModelKind::encoder_decoder && model.output() == Output::next_token;
  if (!fits || model.input_spec().kind != InputKind::features)
    throw unfit_model(config_, "a speech-recognition model");
  const std::int64_t labels = ctc_ != nullptr ? model.labels() : model.vocabulary();
  if (labels < text_->vocabulary())
    throw usage_error("the vocabulary has more tokens than the model in " + config_.model.from)
        .found(counted(text_->vocabulary(), "token"))
        .expected("at most " + std::to_string(labels) + " tokens");
  spec_ = model.input_spec();
}

// Return true if an example with these labels can be used: there must be at most data.max_length labels. For
// CTC, there must also be at least one label, and the model's output for a sound of `positions` encoder
// positions must have enough frames: one for each label, and one for the blank between two equal labels.
bool SpeechRecognition::fits(const std::vector<std::int32_t>& labels, std::int64_t positions) const {
  if (ctc_ == nullptr) return std::ssize(labels) <= config_.data.max_length;
  std::int64_t needed = std::ssize(labels);
  for (std::size_t i = 1; i < labels.size(); ++i) needed += labels[i] == labels[i - 1] ? 1 : 0;
  return !labels.empty() && needed <= spec_.output_length(positions) &&
         std::ssize(labels) <= config_.data.max_length;
}

// Return the labels of a training example. For Whisper, an example has timestamps with probability 0.5, drawn
// again in each epoch.
std::vector<std::int32_t> SpeechRecognition::labels_of(const Part& part, std::size_t i,
                                                       std::uint64_t epoch) const {
  if (ctc_ != nullptr) return ctc_->encode(part.texts[i]);
  RandomStream random(
      {static_cast<std::uint64_t>(config_.seed), epoch * part.examples.size() + i, place_of("speech.times")});
  const bool timed = random.next_uniform() < 0.5f;
  std::vector<std::int32_t> ids =
      whisper_->target(part.texts[i], timed ? part.sounds.seconds(part.examples[i]) : -1.0);
  ids.push_back(whisper_->end());
  return ids;
}

void SpeechRecognition::load_part(const char* what, SoundRows rows, ThreadPool& pool, Part& part) {
  part.sounds.load(std::move(rows), input_, config_, TooLong::skip, pool, notes_);
  for (std::size_t i = 0; i < part.sounds.size(); ++i) {
    std::vector<std::int32_t> labels = text_->encode(part.sounds.row(i).text);
    if (whisper_ != nullptr) labels.resize(labels.size() + whisper_->beginning().size() + 2);
    const std::int64_t frames = part.sounds.frames(i);
    const bool is_short = spec_.shape[0] == 0 && frames < spec_.fewest_frames();
    if (is_short || !fits(labels, spec_.length_of(part.sounds.features(i)))) {
      ++part.skipped;
      continue;
    }
    part.examples.push_back(i);
    part.texts.push_back(part.sounds.row(i).text);
  }
  std::string note = fmt::format("{}: {}; read {}", what, counted(part.examples.size(), "sound"),
                                 part.sounds.report().text());
  if (part.sounds.left_out() > 0)
    note += fmt::format("; skipped {} that are empty or too long", part.sounds.left_out());
  if (part.skipped > 0)
    note += fmt::format(
        "; skipped {} with a text that is empty, or too long for the sound or for 'data.max_length'",
        part.skipped);
  notes_.push_back(note);
  fingerprint_ = fingerprint_ * 3 + part.sounds.fingerprint();
}

void SpeechRecognition::load(const Tokenizers& tokenizers, ThreadPool& pool) {
  if (config_.model.from.empty()) spec_ = make_model(model_config(tokenizers), "[model]")->input_spec();
  load_part("training", std::move(rows_.train), pool, train_);
  load_part("validation", std::move(rows_.valid), pool, valid_);
  if (!rows_.duplicates.empty()) notes_.push_back(rows_.duplicates);
  if (train_.examples.empty()) throw nothing_left(config_, "train");
  if (valid_.examples.empty()) throw nothing_left(config_, "validate");
}

void SpeechRecognition::append(Batch& batch, const Tensor& features, const std::vector<std::int32_t>& labels,
                               std::uint64_t index) const {
  const std::int64_t positions = spec_.length_of(features);
  if (ctc_ == nullptr) {
    batch.add_source_input(features, positions, index);
    batch.add_target(labels, whisper_->start(), index);
    return;
  }
  batch.add_input(features, positions, index);
  batch.labels.insert(batch.labels.end(), labels.begin(), labels.end());
  batch.source.add(std::ssize(labels), index);
}

// Return the mean loss per label of the validation data. For a CTC head, the predicted texts are appended to
// `outputs`.
double SpeechRecognition::loss_of_validation(Network& model, const PassResources& resources,
                                             std::vector<std::string>& outputs) const {
  PredictionPass pass(model, resources);
  double total = 0, weight = 0;
  const std::size_t longest = *std::max_element(
      valid_.examples.begin(), valid_.examples.end(),
      [this](std::size_t a, std::size_t b) { return valid_.sounds.frames(a) < valid_.sounds.frames(b); });
  pass.run(
      valid_.examples.size(), spec_.length_of(valid_.sounds.features(longest)),
      [&](Batch& batch, std::size_t i) {
        std::vector<std::int32_t> labels =
            ctc_ != nullptr ? ctc_->encode(valid_.texts[i]) : whisper_->target(valid_.texts[i], -1.0);
        if (ctc_ == nullptr) labels.push_back(whisper_->end());
        append(batch, valid_.sounds.features(valid_.examples[i]), labels, i);
      },
      [&](Tape& tape, const Batch& batch, std::size_t, std::size_t) {
        Var loss = nullptr;
        if (ctc_ == nullptr) {
          loss = next_token_loss(model, tape, batch, {});
        } else {
          Var logits = head_output(model, tape, batch);
          const auto offsets = model.output_shape(tape, batch.target.view()).offsets;
          for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
            outputs.push_back(ctc_->best_path(logits->value.slice_rows(offsets[i], offsets[i + 1])));
          loss = ctc_loss(model, tape, logits, batch, {});
        }
        total += static_cast<double>(loss->value.f32()[0]);
        weight += batch.weight();
      });
  return weight == 0.0 ? 0.0 : total / weight;
}

// Return the texts that Whisper generates for the validation data, without timestamps.
std::vector<std::string> SpeechRecognition::transcripts(Network& model,
                                                        const PassResources& resources) const {
  infer::SearchOptions search;
  search.beam = config_.validation.beam, search.length_penalty = config_.validation.length_penalty;
  search.start_token = whisper_->start(), search.end_tokens = {whisper_->end()};
  search.max_new = model.max_positions() - std::ssize(whisper_->beginning());
  model.prepare_for_inference(resources.pool);
  std::vector<std::string> texts;
  const auto together = static_cast<std::size_t>(
      std::max<std::int64_t>(1, kPositionsAtOnce / std::max<std::int64_t>(1, spec_.shape[0])));
  for (std::size_t begin = 0; begin < valid_.examples.size(); begin += together) {
    const std::size_t count = std::min(together, valid_.examples.size() - begin);
    infer::Collector collector(count);
    infer::Scheduler scheduler(model, resources.pool, search, collector);
    for (std::size_t i = 0; i < count; ++i) {
      infer::Request request =
          infer::request_of(model, ModelInput(valid_.sounds.features(valid_.examples[begin + i])), i);
      request.prompt = whisper_->beginning();
      scheduler.submit(std::move(request));
    }
    while (scheduler.step())
      if (resources.stop && resources.stop()) throw Stopped{};
    for (const auto& hypotheses : collector.results)
      texts.push_back(whisper_->decode(hypotheses.at(0).tokens));
  }
  return texts;
}

void SpeechRecognition::validate(Network& model, const PassResources& resources,
                                 ValidationReport& report) const {
  std::vector<std::string> outputs;
  set_loss(loss_of_validation(model, resources, outputs), report);
  const bool scored = config_.wants(kWordErrors.name) || config_.wants(kCharacterErrors.name);
  if (ctc_ == nullptr && (scored || config_.validation.samples > 0)) outputs = transcripts(model, resources);
  if (config_.wants(kWordErrors.name))
    report.metrics.push_back({kWordErrors, metrics::word_errors(outputs, valid_.texts).rate()});
  if (config_.wants(kCharacterErrors.name))
    report.metrics.push_back({kCharacterErrors, metrics::character_errors(outputs, valid_.texts).rate()});
  const auto samples = std::min(static_cast<std::size_t>(config_.validation.samples), outputs.size());
  for (std::size_t i = 0; i < samples; ++i)
    report.samples.push_back({valid_.sounds.row(valid_.examples[i]).name, valid_.texts[i], outputs[i]});
}

std::string SpeechRecognition::preview(const Batch& batch, std::size_t sequence) const {
  const Tensor& features = (ctc_ == nullptr ? batch.source_inputs : batch.inputs)[sequence];
  const auto offsets = (ctc_ == nullptr ? batch.target : batch.source).view().offsets;
  std::string labels;
  for (std::int32_t i = offsets[sequence]; i < offsets[sequence + 1]; ++i)
    labels += " " + text_->token_of(batch.labels[static_cast<std::size_t>(i)]);
  return fmt::format("  input:  {} frames of {} values\n  labels:{}\n", features.rows(), features.columns(),
                     labels);
}

}  // namespace

const TaskTraits& speech_recognition_traits() {
  static const TaskTraits traits = sound_traits(
      {.name = "speech-recognition",
       .meaning = "transcribe a sound",
       .keys = {"data.max_length", "model.layers", "model.encoder_layers", "model.decoder_layers",
                "validation.beam", "validation.length_penalty", "sound.vocabulary"},
       .metrics = {kWordErrors, kCharacterErrors, kLoss},
       .corpus = {.plain = data::CorpusFormat::lines, .aligned = true, .limits_length = false},
       .families = {"whisper", "wav2vec2"},
       .example = {"data.max_length=64", "model.family=whisper", "model.encoder_layers=3",
                   "model.decoder_layers=2", "sound.seconds=4", "sound.bins=80", "sound.mask_frames=0.1",
                   "sound.mask_bins=0.1", "training.batch_size=16", "validation.beam=1",
                   "validation.metrics=[\"loss\", \"wer\", \"cer\"]"},
       .verb = "transcribe",
       .make = new_task<SpeechRecognition>});
  return traits;
}

}  // namespace regard::train
