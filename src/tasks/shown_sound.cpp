#include "tasks/shown_sound.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "data/sound.h"
#include "data/sound_processor.h"
#include "ops/tape.h"
#include "regard/error.h"
#include "tasks/probabilities.h"
#include "tasks/whisper_tokens.h"
#include "tensor/arena.h"

namespace regard::tasks {
namespace {

using Kind = data::SoundProcessor::Kind;

// settings of the spectrogram that is shown for a model whose input is the waveform; window and hop in
// samples
constexpr std::int64_t kShownBins = 80, kShownWindow = 400, kShownHop = 160;

// The centre of the first position, and the distance between adjacent positions, in frames of the input.
struct PositionTimes {
  double first = 0, step = 1;
};

PositionTimes times_of(const InputSpec& spec, const Json& config) {
  PositionTimes times;
  if (spec.windows.empty()) {
    // The positions are patches of the spectrogram (AST). Keys and defaults are those of transformers.
    const auto size = optional_value<std::int64_t>(config, "patch_size", "config.json").value_or(16);
    times.step =
        static_cast<double>(optional_value<std::int64_t>(config, "time_stride", "config.json").value_or(10));
    times.first = 0.5 * static_cast<double>(size - 1);
    return times;
  }
  for (const FrameWindow& window : spec.windows) {
    times.first +=
        times.step * (0.5 * static_cast<double>(window.kernel - 1) - static_cast<double>(window.padding));
    times.step *= static_cast<double>(window.stride);
  }
  return times;
}

// Return the time of the centre of frame 0 and the time between frames, in seconds.
std::pair<double, double> frame_times(const data::SoundProcessor& processor) {
  const double second = 1.0 / static_cast<double>(processor.rate);
  if (processor.kind == Kind::samples) return {0.0, second};
  if (processor.kind == Kind::whisper) return {0.0, static_cast<double>(processor.hop) * second};
  // frame i starts at sample i · hop, and its centre is half a window later
  const data::LogMel mel = processor.log_mel();
  return {0.5 * static_cast<double>(mel.window()) * second, static_cast<double>(mel.hop()) * second};
}

// Return the features that the model reads. If the model's input is the waveform, return a log-mel
// spectrogram with Whisper's settings.
Tensor spectrogram_of(const data::SoundProcessor& processor, ThreadPool& pool, const Tensor& values) {
  if (processor.kind != Kind::samples) return values;
  data::SoundProcessor shown;
  shown.rate = processor.rate, shown.bins = kShownBins, shown.window = kShownWindow, shown.hop = kShownHop;
  shown.samples = std::max(values.rows() / kShownHop, std::int64_t{1}) * kShownHop;
  return shown.apply(pool, {values.f32(), static_cast<std::size_t>(values.rows())});
}

std::vector<std::string> position_labels(const InputSpec& spec, const ShownSound& sound) {
  const auto time = [&](std::int64_t index) {
    const int digits = sound.time_step < 0.01 ? 4 : 2;
    return fmt::format("{:.{}f} s", sound.first_time + sound.time_step * static_cast<double>(index), digits);
  };
  std::vector<std::string> labels;
  for (std::int64_t s = 0; s < spec.specials; ++s) labels.push_back(s == 0 ? "[CLS]" : "[DIST]");
  if (!spec.windows.empty()) {
    const std::int64_t count = spec.length_of(sound.input);
    for (std::int64_t i = 0; i < count; ++i) labels.push_back(time(i));
    return labels;
  }
  for (std::int64_t band = 0; band < spec.patch_rows; ++band)
    for (std::int64_t column = 0; column < spec.patch_columns; ++column)
      labels.push_back(fmt::format("{}, band {}", time(column), band));
  return labels;
}

// Return the language whose token is the most probable one after the start token.
std::string language_of(const infer::LoadedModel& loaded, ThreadPool& pool, const ModelInput& input,
                        const WhisperTokens& tokens) {
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({});
  InputBuffer sources;
  sources.add(input, loaded.model->input_spec().length_of(input), 0);
  RaggedBuffer target;
  target.add(1, 0);
  const std::int32_t start[] = {tokens.start};
  const Memory memory{loaded.model->encode(tape, sources.batch()), sources.batch().shape, nullptr};
  const Tensor logits =
      loaded.model->logits(tape, loaded.model->decode(tape, {start, target.view()}, &memory, nullptr))->value;
  require_finite({logits.f32(), static_cast<std::size_t>(logits.elements())});
  std::int32_t best = -1;
  for (const auto& [code, id] : tokens.languages)
    if (best < 0 || logits.f32()[id] > logits.f32()[best]) best = id;
  return tokens.code_of(best);
}

void begin_transcript(const infer::LoadedModel& loaded, ThreadPool& pool, std::string language,
                      ShownSound& sound) {
  const WhisperTokens tokens = WhisperTokens::of(loaded);
  if (language.empty() && !tokens.languages.empty())
    language = language_of(loaded, pool, sound.input, tokens);
  sound.prompt = tokens.beginning(language, false, false);
  sound.search = loaded.options;
  sound.search.n_best = 1, sound.search.max_length = 0;
  sound.search.max_new = loaded.model->max_positions() - std::ssize(sound.prompt);
  for (std::int32_t time = tokens.first_time(); time < loaded.model->vocabulary(); ++time)
    sound.search.rules.suppressed.push_back(time);
}

}  // namespace

ShownSound read_shown_sound(const infer::LoadedModel& loaded, ThreadPool& pool,
                            const std::filesystem::path& file, const std::string& language) {
  const InputSpec& spec = loaded.model->input_spec();
  spec.require(InputKind::features);
  const auto processor = data::SoundProcessor::open(loaded.folder.path, spec.shape[0], spec.shape[1]);
  const double most = std::min(kMostShownSeconds, processor.most_seconds());
  // read slightly more than the maximum, to detect a longer file
  std::vector<float> samples = data::read_sound(file, processor.rate, most + 0.1, data::TooLong::cut);
  ShownSound sound;
  const auto limit = static_cast<std::size_t>(std::llround(most * static_cast<double>(processor.rate)));
  sound.cut = samples.size() > limit;
  samples.resize(std::min(samples.size(), limit));
  sound.seconds = static_cast<double>(samples.size()) / static_cast<double>(processor.rate);
  sound.input = ModelInput(processor.apply(pool, samples));
  sound.spectrogram = spectrogram_of(processor, pool, sound.input.values);
  const auto [first, step] = frame_times(processor);
  const PositionTimes times = times_of(spec, loaded.model->config());
  sound.first_time = first + times.first * step, sound.time_step = times.step * step;
  sound.frame_seconds = processor.kind == Kind::samples
                            ? static_cast<double>(kShownHop) / static_cast<double>(processor.rate)
                            : step;
  sound.labels = position_labels(spec, sound);
  if (loaded.model->kind() == ModelKind::encoder_decoder) begin_transcript(loaded, pool, language, sound);
  return sound;
}

}  // namespace regard::tasks
