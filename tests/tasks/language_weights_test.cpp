// Models with adapters per language (MMS): logits and transcripts of two languages compared with
// transformers.
#include <gtest/gtest.h>

#include <cstring>

#include "api/media_reader.h"
#include "base/file.h"
#include "base/json.h"
#include "support/golden.h"
#include "support/hf_folder.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "support/wav.h"
#include "tasks/transcribe.h"

namespace regard::testing {
namespace {

const std::filesystem::path kFolder = testing::golden("hf-tiny/wav2vec2-adapter");

infer::LoadedModel opened_in(const std::string& language) {
  return infer::LoadedModel::open(kFolder, {.reads = InputKind::features, .language = language});
}

std::string transcript(const std::string& language, std::span<const float> samples,
                       const tasks::TranscribeOptions& options = {}) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "sound.wav", testing::wav_file(samples));
  const infer::LoadedModel loaded = opened_in(language);
  ThreadPool pool(1);
  tasks::Transcriber transcriber(loaded, pool, options);
  std::string text;
  tasks::TranscribeListener listener;
  listener.segment = [&](const tasks::TranscriptSegment& segment) { text += segment.text; };
  transcriber.transcribe(folder / "sound.wav", listener);
  return text;
}

// The transcripts of a study are encoded with the labels of the model's language.
TEST(LanguageWeights, StudiesUseTheLabelsOfTheLanguage) {
  ThreadPool pool(1);
  const auto labels = [&](const std::string& language, const std::string& text) {
    const infer::LoadedModel loaded = opened_in(language);
    return api::media_reader(loaded, pool).ctc_labels(text);
  };
  EXPECT_EQ(labels("hin", "क छ"), (std::vector<std::int32_t>{5, 4, 10}));
  EXPECT_EQ(labels("", "ag"), (std::vector<std::int32_t>{5, 11}));
}

TEST(LanguageWeights, LogitsEqualThoseOfTransformers) {
  const Golden golden("hf-tiny", "wav2vec2-adapter");
  const Tensor sounds = golden.tensor("input_values");
  const Tensor logits = formats::SafetensorsFile::open(kFolder / "hindi.safetensors")->tensor("logits");
  const infer::LoadedModel loaded = opened_in("hin");
  ASSERT_EQ(loaded.model->labels(), 11);
  ThreadPool pool(1);
  Arena arena;
  for (std::int64_t i = 0; i < 2; ++i) {
    Tape tape(pool, arena);
    tape.begin({});
    InputBuffer buffer;
    Tensor sound = Tensor::empty({400, 1});
    std::memcpy(sound.f32(), sounds.f32() + i * 400, 1600);
    const ModelInput input{std::move(sound)};
    buffer.add(input, loaded.model->input_spec().length_of(input), 0);
    const InputBatch batch = buffer.batch();
    Var hidden = loaded.model->encode(tape, batch);
    const Tensor actual = loaded.model->head(tape, hidden, batch)->value.clone();
    const Tensor expected = logits.reshape({2, 39 * 11}).slice_rows(i, i + 1).reshape({39, 11});
    EXPECT_LE(output_error(actual, expected), 1.0) << i;
  }
}

TEST(LanguageWeights, TranscriptsEqualThoseOfTransformers) {
  const Golden golden("hf-tiny", "wav2vec2-adapter");
  const Tensor sounds = golden.tensor("input_values");
  for (const std::string language : {"eng", "hin"})
    for (std::size_t i = 0; i < 2; ++i) {
      const std::span<const float> samples(sounds.f32() + i * 400, 400);
      EXPECT_EQ(transcript(language == "eng" ? "" : language, samples), golden.about()["texts"][language][i]);
    }
}

TEST(LanguageWeights, AnUnknownLanguageNamesTheLanguages) {
  EXPECT_REGARD_ERROR(opened_in("urd"), ErrorKind::usage,
                      "the model has no weights for this language (expected hin, found urd)");
  EXPECT_REGARD_ERROR(infer::LoadedModel::open(testing::golden("hf-tiny/wav2vec2-stable"),
                                               {.reads = InputKind::features, .language = "hin"}),
                      ErrorKind::usage, "the model has no language-specific weights");
}

TEST(LanguageWeights, TheLanguageOfAnOpenModelIsFixed) {
  tasks::TranscribeOptions options;
  options.whisper.language = "hin";
  const std::vector<float> silence(400, 0.0f);
  EXPECT_REGARD_ERROR(transcript("", silence, options), ErrorKind::usage,
                      "the language of this model is fixed (found language \"hin\")");
  EXPECT_NO_THROW(transcript("hin", silence, options));
}

}  // namespace
}  // namespace regard::testing
