#include "evaluate/sound.h"

#include <algorithm>

#include "base/counted.h"
#include "data/sound_rows.h"
#include "evaluate/class_scores.h"
#include "metrics/word_error_rate.h"
#include "tasks/classify.h"
#include "tasks/sound_reader.h"
#include "tasks/transcribe.h"

namespace regard::evaluate {
namespace {

namespace fs = std::filesystem;

using data::SoundRow;

std::vector<SoundRow> read_rows(const DataOptions& data, const char* second, Evaluation& result) {
  std::vector<SoundRow> rows = data::read_sound_rows(data, second);
  for (const SoundRow& row : rows) result.rows.push_back({row.place, row.name, row.text, nullptr});
  if (rows.empty()) throw nothing_to_evaluate(data);
  result.fact("rows", rows.size());
  result.line("rows         {}", rows.size());
  return rows;
}

// Return the transcript of a sound as one line.
std::string transcript_of(tasks::Transcriber& transcriber, const SoundRow& row) {
  std::string text;
  tasks::TranscribeListener listener;
  listener.segment = [&](const tasks::TranscriptSegment& segment) {
    text += (text.empty() ? "" : " ") + segment.text;
  };
  placed(row.place, [&] { return transcriber.transcribe(row.file, listener); });
  return text;
}

double rate_of(std::span<const double> totals) {
  return totals[1] == 0.0 ? (totals[0] == 0.0 ? 0.0 : 1.0) : totals[0] / totals[1];
}

}  // namespace

Evaluation audio_classification(const Subject& subject, const DataOptions& data) {
  Evaluation result;
  result.task = "audio-classification";
  tasks::ClassifyOptions classify;
  classify.reading.probe = subject.probe;
  tasks::Classifier classifier(subject.model, subject.pool, classify);
  const tasks::SoundReader reader(subject.model.folder.path, subject.model.model->input_spec(), subject.pool);
  const std::vector<std::string>& labels = classifier.labels();
  std::vector<std::int32_t> predicted, truth;
  const std::vector<SoundRow> rows = read_rows(data, "label", result);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    truth.push_back(placed(rows[i].place, [&] { return class_named(rows[i].text, labels); }));
    const tasks::Input inputs[] = {placed(rows[i].place, [&] { return reader.read(rows[i].file); })};
    const Tensor scores = classifier.scores(inputs);
    const float* row = scores.row(0);
    predicted.push_back(static_cast<std::int32_t>(std::max_element(row, row + labels.size()) - row));
    result.rows[i].expected = labels[static_cast<std::size_t>(truth.back())];
    result.rows[i].output = labels[static_cast<std::size_t>(predicted.back())];
    result.rows[i].score = predicted.back() == truth.back() ? 1 : 0;
  }
  result.row_score = "accuracy";
  add_class_scores(predicted, truth, labels, result);
  return result;
}

Evaluation speech_recognition(const Subject& subject, const DataOptions& data) {
  Evaluation result;
  result.task = "speech-recognition";
  tasks::TranscribeOptions options;
  options.whisper.timestamps = options.whisper.uses_previous = false;
  options.whisper.temperatures = {0.0};
  options.whisper.compression_ratio.reset(), options.whisper.log_probability.reset();
  options.whisper.no_speech.reset();
  options.whisper.probe = options.ctc.probe = subject.probe;
  options.whisper.beam = options.ctc.beam = subject.model.options.beam;
  tasks::Transcriber transcriber(subject.model, subject.pool, options);
  const std::vector<SoundRow> rows = read_rows(data, "text", result);
  Table words, characters;
  metrics::Errors of_words, of_characters;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string text = transcript_of(transcriber, rows[i]);
    const metrics::Errors word = metrics::word_errors(text, rows[i].text),
                          character = metrics::character_errors(text, rows[i].text);
    words.push_back({static_cast<float>(word.errors), static_cast<float>(word.length)});
    characters.push_back({static_cast<float>(character.errors), static_cast<float>(character.length)});
    of_words += word, of_characters += character;
    result.rows[i].output = text;
    result.rows[i].score = -static_cast<double>(word.errors);
  }
  result.row_score = "negative_word_errors";
  result.scores = {{"wer", of_words.rate(), sums(std::move(words), rate_of)},
                   {"cer", of_characters.rate(), sums(std::move(characters), rate_of)}};
  result.fact("words", of_words.length), result.fact("characters", of_characters.length);
  result.line("WER          {:.4f} ({}, {})", of_words.rate(), counted(of_words.errors, "error"),
              counted(of_words.length, "word"));
  result.line("CER          {:.4f} ({}, {})", of_characters.rate(), counted(of_characters.errors, "error"),
              counted(of_characters.length, "character"));
  return result;
}

}  // namespace regard::evaluate
