// Runs that train a LoRA adapter, and the use of the adapter with its base model.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "formats/safetensors.h"
#include "run_case.h"

namespace regard::train {
namespace {

class LoraRun : public RunCase {
 protected:
  LoraRun() { EXPECT_EQ(train({"--set", "training.max_steps=20"}).exit_code, 0); }

  ProgramResult tune(const std::string& output, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"train", "tune.toml", "--set", "output.folder=" + output};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::string text =
        "task = \"translation\"\n[data]\ntrain = [\"train.en\", \"train.de\"]\nvalid = [\"valid.en\", "
        "\"valid.de\"]\n[model]\nfrom = \"run\"\n[training]\nlearning_rate = 1e-2\nbatch_tokens = "
        "120\nmax_steps = 16\n[lora]\nrank = 3\nalpha = 6\nbias = \"lora_only\"\n[validation]\n"
        "every_steps = 8\nsamples = 0\n";
    regard::testing::write_file(folder.path(), "tune.toml", text);
    return run_program(arguments, folder.path());
  }
  std::string adapter(const std::string& run) {
    return file_content(folder / run / "latest/adapter_model.safetensors");
  }
  std::string translated(const std::vector<std::string>& model) {
    std::vector<std::string> arguments{"translate"};
    arguments.insert(arguments.end(), model.begin(), model.end());
    arguments.insert(arguments.end(), {"valid.en", "--log-probabilities", "--json"});
    const ProgramResult result = run_program(arguments, folder.path());
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }
};

// The base model's weights are unchanged, except biases of adapted layers, which are part of the adapter.
TEST_F(LoraRun, TrainsTheAdapterOnly) {
  const ProgramResult result = tune("tuned");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("adapter: "), std::string::npos) << result.err;
  const auto base = formats::SafetensorsFile::open(folder / "run/best/model.safetensors");
  const auto after = formats::SafetensorsFile::open(folder / "tuned/latest/model.safetensors");
  for (const formats::TensorEntry& entry : base->entries()) {
    if (entry.name.ends_with(".bias")) continue;
    const Tensor value = base->tensor(entry.name);
    EXPECT_EQ(std::memcmp(value.data(), after->tensor(entry.name).data(), value.bytes()), 0) << entry.name;
  }
  const auto trained = formats::SafetensorsFile::open(folder / "tuned/latest/adapter_model.safetensors");
  std::size_t updates = 0;
  for (const formats::TensorEntry& entry : trained->entries()) {
    if (!entry.name.ends_with(".lora_B.weight")) continue;
    const Tensor b = trained->tensor(entry.name);
    EXPECT_TRUE(std::any_of(b.f32(), b.f32() + b.elements(), [](float x) { return x != 0.0f; }))
        << entry.name;
    ++updates;
  }
  EXPECT_GT(updates, 10u);
  const Json config = Json::parse(file_content(folder / "tuned/latest/adapter_config.json"));
  EXPECT_EQ(config["peft_type"], "LORA");
  EXPECT_EQ(config["r"], 3);
  EXPECT_EQ(config["lora_alpha"], 6.0);
  EXPECT_EQ(config["task_type"], "SEQ_2_SEQ_LM");
}

TEST_F(LoraRun, ResumesWithoutTheFolderItCameFrom) {
  ASSERT_EQ(tune("whole").exit_code, 0);
  ASSERT_EQ(tune("parts", {"--set", "training.max_steps=5"}).exit_code, 0);
  fs::rename(folder / "run", folder / "elsewhere");
  const ProgramResult result = run_program(
      {"train", "--resume", "parts", "--set", "training.max_steps=16", "--threads", "2"}, folder.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(adapter("whole") == adapter("parts"));
  EXPECT_TRUE(weights("whole") == weights("parts"));
}

// The run folder, the base model with --adapter, and the merged model give the same results.
TEST_F(LoraRun, TheAdapterIsUsed) {
  ASSERT_EQ(tune("tuned").exit_code, 0);
  const std::string plain = translated({"run"}), tuned = translated({"tuned/latest"});
  EXPECT_NE(plain, tuned);
  EXPECT_EQ(translated({"run", "--adapter", "tuned/latest"}), tuned);
  const ProgramResult merged = run_program({"convert", "tuned/latest", "merged"}, folder.path());
  ASSERT_EQ(merged.exit_code, 0) << merged.err;
  EXPECT_FALSE(fs::exists(folder / "merged/adapter_config.json"));
  const auto base = formats::SafetensorsFile::open(folder / "run/best/model.safetensors");
  const auto one = formats::SafetensorsFile::open(folder / "merged/model.safetensors");
  EXPECT_FALSE(one->entries().empty());

  const ProgramResult alone = [&] {
    fs::create_directory(folder / "alone");
    for (const char* name : {"adapter_config.json", "adapter_model.safetensors"})
      fs::copy_file(folder / "tuned/latest" / name, folder / "alone" / name);
    return run_program({"translate", "alone", "valid.en"}, folder.path());
  }();
  EXPECT_EQ(alone.exit_code, 3) << alone.err;
  EXPECT_NE(alone.err.find("--adapter"), std::string::npos) << alone.err;
}

TEST_F(LoraRun, ATunedModelCanBeTunedAgain) {
  ASSERT_EQ(tune("tuned").exit_code, 0);
  const ProgramResult again = tune("again", {"--set", "model.from=tuned", "--set", "training.max_steps=2"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  // The adapter of the folder is merged into the weights, so that training continues from its loss.
  const ProgramResult same = tune("same", {"--set", "model.from=tuned/latest", "--set",
                                           "training.max_steps=1", "--set", "training.learning_rate=0"});
  ASSERT_EQ(same.exit_code, 0) << same.err;
  const double loss = last_validation("same")["loss"], tuned = last_validation("tuned")["loss"];
  EXPECT_NEAR(loss, tuned, 1e-5);
  EXPECT_GT(std::fabs(loss - last_validation("run")["loss"].get<double>()), 1e-2);
}

TEST_F(LoraRun, WrongSettingsAreRefused) {
  for (const auto& [setting, part] : {std::pair{"lora.targets=[\"nothing\"]", "targets"},
                                      {"lora.rank_pattern=[\"query\"]", "PATTERN=NUMBER"},
                                      {"lora.rank_pattern=[\"query=0x4\"]", "PATTERN=NUMBER"},
                                      {"lora.alpha_pattern=[\"(=2\"]", "regular expression"},
                                      {"lora.layers=[0.5]", "not a whole number"},
                                      {"lora.bias=some", "lora_only"},
                                      {"training.average_last=2", "ema_decay"},
                                      {"training.freeze=[\"encoder.*\"]", "only the adapter"}}) {
    const ProgramResult result = tune("wrong", {"--set", setting});
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(folder / "wrong"));
  }
}

}  // namespace
}  // namespace regard::train
