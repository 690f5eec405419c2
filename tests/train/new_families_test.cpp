// New models of each family: each is trained, resumed with the same bits, and reloaded.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "models/weights.h"
#include "ops/parameter.h"
#include "run_case.h"
#include "train/new_families.h"

namespace regard::train {
namespace {

struct FamilyCase {
  const char *task, *family, *architecture, *settings;
};

class NewFamilies : public RunCase, public ::testing::WithParamInterface<FamilyCase> {
 protected:
  void write() {
    const FamilyCase& one = GetParam();
    const bool pairs = std::string(one.task) != "language-model";
    std::string rows;
    for (int i = 0; i < 60; ++i)
      rows += pairs ? "one two three\tfour\nfive six\tone\nsix\tfour\n" : "one two three four five six\n";
    regard::testing::write_file(folder.path(), "train.tsv", rows);
    regard::testing::write_file(folder.path(), "train.txt", rows);
    const std::string file = pairs ? "train.tsv" : "train.txt";
    std::filesystem::remove(folder / "run.toml");
    regard::testing::write_file(
        folder.path(), "run.toml",
        std::string("task = \"") + one.task + "\"\n[data]\ntrain = [\"" + file + "\"]\nvalid = [\"" + file +
            "\"]\n" + (pairs ? "columns = [1, 2]\n" : "") + one.settings +
            "hidden_size = 16\nheads = 2\nfeed_forward_size = 32\nfamily = \"" + one.family + R"("
[validation]
every_steps = 0
metrics = ["loss"]
samples = 1
[output]
folder = "run"
)");
  }
};

TEST_P(NewFamilies, TrainAndOpen) {
  write();
  for (const char* threads : {"1", "3"}) {
    const ProgramResult result = train({"-t", threads, "--set", std::string("output.folder=") + threads});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  EXPECT_EQ(weights("1"), weights("3"));
  const Json config = read_json((folder / "1/latest/config.json").string());
  EXPECT_EQ(config["model_type"], GetParam().family);
  EXPECT_EQ(config["architectures"][0], GetParam().architecture);
  ASSERT_EQ(train({"--set", "training.max_steps=5"}).exit_code, 0);
  ASSERT_EQ(train({"--resume"}).exit_code, 0);
  EXPECT_EQ(weights("1"), weights("run"));
  const ProgramResult info = run_program({"info", "run"}, folder.path());
  EXPECT_EQ(info.exit_code, 0) << info.err;
}

TEST_P(NewFamilies, CheckpointedGradientsHaveTheSameBits) {
  write();
  ASSERT_EQ(train({"--set", "output.folder=plain"}).exit_code, 0);
  ASSERT_EQ(train({"--set", "training.gradient_checkpointing=true", "--set", "output.folder=less"}).exit_code,
            0);
  EXPECT_EQ(weights("plain"), weights("less"));
}

TEST_P(NewFamilies, KeysThatTheFamilyDecidesAreRefused) {
  write();
  const ProgramResult result = train({"--set", "model.norm=post"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(
      result.err.find(std::string("'model.family' is \"") + GetParam().family + "\", which does not use it"),
      std::string::npos)
      << result.err;
}

constexpr const char* kText = R"([tokenizer]
type = "byte-bpe"
vocab_size = 280
[training]
schedule = "constant"
batch_size = 4
context = 8
max_steps = 10
[model]
layers = 2
)";
constexpr const char* kPairs = R"([tokenizer]
type = "char"
[training]
schedule = "constant"
batch_tokens = 60
max_steps = 10
[model]
encoder_layers = 2
decoder_layers = 1
)";
constexpr const char* kLabels = R"(max_length = 12
[tokenizer]
type = "wordpiece"
vocab_size = 60
[training]
schedule = "constant"
batch_size = 4
max_steps = 10
[model]
layers = 2
)";

INSTANTIATE_TEST_SUITE_P(
    All, NewFamilies,
    ::testing::Values(FamilyCase{"language-model", "gpt2", "GPT2LMHeadModel", kText},
                      FamilyCase{"language-model", "llama", "LlamaForCausalLM", kText},
                      FamilyCase{"language-model", "mistral", "MistralForCausalLM", kText},
                      FamilyCase{"language-model", "qwen2", "Qwen2ForCausalLM", kText},
                      FamilyCase{"translation", "t5", "T5ForConditionalGeneration", kPairs},
                      FamilyCase{"classification", "bert", "BertForSequenceClassification", kLabels},
                      FamilyCase{"classification", "electra", "ElectraForSequenceClassification", kLabels},
                      FamilyCase{"classification", "roberta", "RobertaForSequenceClassification", kLabels}),
    [](const auto& one) { return std::string(one.param.family); });

// The initial standard deviations of T5 equal those in transformers. T5 needs them because its attention does
// not scale scores.
TEST(NewT5, HasTheDeviationsOfTransformers) {
  RunConfig config;
  TransformerConfig& sizes = config.model.transformer;
  sizes.hidden_size = 64, sizes.heads = 4, sizes.feed_forward_size = 256;
  sizes.encoder_layers = sizes.decoder_layers = 1;
  const NewFamily& family = *find_new_family("t5");
  const auto model = make_model(family.config({sizes, 1000, {0, 1, 2, 1}, 0}), "[model]");
  initialise(*model, 1);
  family.initialise(*model);
  const std::map<std::string, double> expected{
      {"shared.weight", 1.0},
      {"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", 1.0 / 8},
      {"decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", 1.0 / 8},
      {"encoder.block.0.layer.0.SelfAttention.q.weight", 1.0 / 32},
      {"encoder.block.0.layer.0.SelfAttention.k.weight", 1.0 / 8},
      {"decoder.block.0.layer.1.EncDecAttention.o.weight", 1.0 / 8},
      {"decoder.block.0.layer.2.DenseReluDense.wi.weight", 1.0 / 8},
      {"decoder.block.0.layer.2.DenseReluDense.wo.weight", 1.0 / 16}};
  std::size_t compared = 0;
  for (const Parameter* parameter : model->parameters()) {
    const auto found = expected.find(parameter->name);
    if (found == expected.end()) continue;
    double sum = 0;
    const Tensor& value = parameter->value();
    for (std::int64_t i = 0; i < value.elements(); ++i)
      sum += static_cast<double>(value.f32()[i]) * static_cast<double>(value.f32()[i]);
    EXPECT_NEAR(std::sqrt(sum / static_cast<double>(value.elements())) / found->second, 1.0, 0.1)
        << found->first;
    ++compared;
  }
  EXPECT_EQ(compared, expected.size());
}

// Every name in NewFamily::keys is a key of the section [model] of run files.
TEST(NewFamilyKeys, Exist) {
  RunConfig config;
  const std::vector<Field> fields = run_fields(config);
  for (const NewFamily& family : new_families())
    for (const std::string& key : family.keys)
      EXPECT_NE(find_field(fields, "model." + key), nullptr) << family.name << ": " << key;
}

}  // namespace
}  // namespace regard::train
