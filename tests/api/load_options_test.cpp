// LoadOptions: the language, LoRA adapter and task of a model, and errors for names that do not exist.
#include <gtest/gtest.h>

#include <span>
#include <string>

#include "base/file.h"
#include "regard/regard.h"
#include "support/golden.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "support/wav.h"

namespace regard::testing {
namespace {

TEST(LoadOptions, SelectTheLanguageOfASpeechModel) {
  const Golden golden("hf-tiny", "wav2vec2-adapter");
  const Tensor sounds = golden.tensor("input_values");
  const TemporaryFolder folder;
  const auto path = testing::golden("hf-tiny/wav2vec2-adapter");
  const auto text = [&](const Model& model) {
    const Transcript transcript = Transcriber(model).transcribe(folder / "sound.wav");
    return transcript.segments.empty() ? "" : transcript.segments[0].text;
  };
  for (std::size_t i = 0; i < 2; ++i) {
    write_file_atomically(folder / "sound.wav", wav_file(std::span(sounds.f32() + i * 400, 400)));
    const Json& texts = golden.about()["texts"];
    EXPECT_EQ(text(load(path, {}, {.language = "hin"})), texts["hin"][i]);
    EXPECT_EQ(text(load(path)), texts["eng"][i]);
    EXPECT_NE(texts["hin"][i], texts["eng"][i]);
  }
  EXPECT_REGARD_ERROR(load(path, {}, {.language = "urd"}), ErrorKind::usage, "expected hin, found urd");
}

TEST(LoadOptions, AnAdapterMustExist) {
  const auto path = testing::golden("lora/gpt2");
  EXPECT_REGARD_ERROR(load(path, {}, {.adapter = path / "nowhere"}), ErrorKind::io, "nowhere");
}

TEST(LoadOptions, ATaskMustBeInTheFolder) {
  EXPECT_REGARD_ERROR(load(testing::golden("hf-tiny/t5"), {}, {.task = "sing"}), ErrorKind::usage, "sing");
}

}  // namespace
}  // namespace regard::testing
