// The public Runner: its outputs agree with golden outputs of transformers and are bit-identical to `regard
// run`.
#include "regard/run.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "regard/regard.h"
#include "support/golden.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using testing::golden;

const std::set<std::string> kInputs{"input_ids",         "attention_mask",  "token_type_ids",
                                    "decoder_input_ids", "labels",          "position_ids",
                                    "pixel_values",      "start_positions", "end_positions"};

NamedTensors inputs_of(const NamedTensors& all) {
  NamedTensors inputs;
  for (const auto& [name, tensor] : all)
    if (kInputs.count(name) != 0 || name.starts_with("loss_weight.")) inputs[name] = tensor;
  return inputs;
}

NamedTensors case_of(const std::string& name) {
  return read_tensors(golden("hf-tiny/" + name + "/golden.safetensors"));
}

// Compare all outputs, the loss and every gradient for base models, models with heads, a decoder, an
// encoder–decoder and an image model.
TEST(Runner, AgreesWithTransformers) {
  for (const std::string name : {"bert", "bert-classifier", "bert-qa", "gpt2", "bart", "vit"}) {
    const NamedTensors all = case_of(name);
    const NamedTensors found =
        Runner(golden("hf-tiny/" + name)).run(inputs_of(all), {.compute_padding = true});
    int compared = 0;
    for (const auto& [output, tensor] : all) {
      // The gradient of a key bias is zero in exact arithmetic, so it consists of rounding errors. It is
      // compared in tests/families.
      if (output.ends_with("key.bias") || kInputs.count(output) != 0 || output.starts_with("loss_weight.") ||
          tensor.dtype() != DType::f32 || output.ends_with("_score"))
        continue;
      ASSERT_EQ(found.count(output), 1u) << name << " " << output;
      const bool gradient = output.starts_with("grad.");
      testing::expect_close(found.at(output), tensor, gradient ? 2e-4 : 2e-5, gradient ? 1e-3 : 1.0,
                            name + " " + output);
      ++compared;
    }
    EXPECT_GT(compared, 3) << name;
  }
}

TEST(Runner, GeneratesAsTransformersDoes) {
  const NamedTensors all = case_of("gpt2");
  const Runner runner(golden("hf-tiny/gpt2"));
  const NamedTensors found = runner.generate(inputs_of(all), {.beam = 1, .max_new = 20});
  EXPECT_TRUE(equal_bits(found.at("sequences"), all.at("greedy")));
  EXPECT_REGARD_ERROR(runner.generate(inputs_of(all), {.stop = {"x"}}), ErrorKind::usage, "tokenizer");
  EXPECT_REGARD_ERROR(Runner(golden("hf-tiny/bert")).generate(inputs_of(case_of("bert"))), ErrorKind::usage,
                      "no decoder");
}

TEST(Runner, GivesTheBitsOfTheProgram) {
  if (!std::filesystem::exists(testing::program_path())) GTEST_SKIP() << "the program is not built";
  const testing::TemporaryFolder folder;
  const std::string model = golden("hf-tiny/bert").string();
  const NamedTensors inputs = inputs_of(case_of("bert"));
  write_tensors(folder / "in.safetensors", inputs);
  const auto result =
      testing::run_program({"run", model, "-i", "in.safetensors", "-o", "out.safetensors"}, folder.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const NamedTensors written = read_tensors(folder / "out.safetensors"), found = Runner(model).run(inputs);
  ASSERT_EQ(written.size(), found.size());
  for (const auto& [name, tensor] : written) EXPECT_TRUE(equal_bits(found.at(name), tensor)) << name;
}

TEST(Runner, ReturnsWhatIsSelected) {
  const Runner runner(golden("hf-tiny/bart"));
  const NamedTensors inputs = inputs_of(case_of("bart"));
  const auto names = [&](const std::vector<std::string>& capture) {
    std::set<std::string> all;
    for (const auto& [name, tensor] : runner.run(inputs, {.capture = capture})) all.insert(name);
    return all;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(names({"logits", "cross_attentions.1"}), (Names{"logits", "cross_attentions.1"}));
  EXPECT_EQ(names({"encoder_attentions", "loss"}),
            (Names{"encoder_attentions.0", "encoder_attentions.1", "loss"}));
  EXPECT_EQ(names({"logits", "pooler_output"}), Names{"logits"})
      << "an output that the model lacks is skipped";
  EXPECT_REGARD_ERROR(runner.run(inputs, {.capture = {"logits", "attention"}}), ErrorKind::usage,
                      "attentions");
  EXPECT_REGARD_ERROR(runner.run(inputs, {.capture = {"hidden_states.x"}}), ErrorKind::usage,
                      "hidden_states.x");
  EXPECT_REGARD_ERROR(runner.run(inputs, {.capture = {"pooler_output"}}), ErrorKind::usage,
                      "none of the requested outputs");
}

TEST(Runner, RefusesInputsThatDoNotFit) {
  const Runner runner(golden("hf-tiny/bert"));
  const NamedTensors good = inputs_of(case_of("bert"));
  const auto with = [&](const std::string& name, const Tensor& tensor) {
    NamedTensors inputs = good;
    inputs[name] = tensor;
    return inputs;
  };
  const Tensor ids = good.at("input_ids");
  Tensor outside = ids.clone();
  outside.i64()[0] = 1000000;
  constexpr ErrorKind invalid = ErrorKind::invalid_input;
  EXPECT_REGARD_ERROR(runner.run(with("input_ids", outside)), invalid, "1000000");
  EXPECT_REGARD_ERROR(runner.run(with("input_ids", ids.to(DType::f32))), invalid, "i64 or i32");
  EXPECT_REGARD_ERROR(runner.run(with("attention_mask", Tensor::zeros({1, 2}, DType::i64))), invalid,
                      "[1, 2]");
  EXPECT_REGARD_ERROR(runner.run(with("input_idz", ids)), invalid, "input_ids");
  EXPECT_REGARD_ERROR(runner.run(with("logits", ids)), invalid, "output");
  EXPECT_REGARD_ERROR(runner.run(with("token_type_ids", Tensor())), invalid, "undefined");
  EXPECT_REGARD_ERROR(runner.run({}), invalid, "missing");
  const Tensor narrow = ids.to(DType::i32);
  EXPECT_TRUE(equal_bits(runner.run(with("input_ids", narrow)).at("last_hidden_state"),
                         runner.run(good).at("last_hidden_state")));
}

TEST(NamedTensorFiles, HoldWhatWasWritten) {
  const testing::TemporaryFolder folder;
  const NamedTensors tensors{{"a", Tensor::of({2, 2}, {1, 2, 3, 4})},
                             {"b", Tensor::zeros({3}, DType::i64)},
                             {"c", Tensor::of({1.5f}).to(DType::bf16)}};
  write_tensors(folder / "t.safetensors", tensors);
  NamedTensors again = read_tensors(folder / "t.safetensors");
  ASSERT_EQ(again.size(), 3u);
  for (const auto& [name, tensor] : tensors) EXPECT_TRUE(equal_bits(again.at(name), tensor)) << name;
  again.at("a").f32()[0] = 7.0f;  // the tensor owns its memory and is not a view of the file
  EXPECT_EQ(read_tensors(folder / "t.safetensors").at("a").at({0, 0}), 1.0);
  EXPECT_REGARD_ERROR(write_tensors(folder / "u", {{"x", Tensor()}}), ErrorKind::usage,
                      "default-constructed");
  EXPECT_REGARD_ERROR(write_tensors(folder / "u", {{"__metadata__", Tensor::zeros({1})}}), ErrorKind::usage,
                      "__metadata__");
  EXPECT_REGARD_ERROR(read_tensors(folder / "none"), ErrorKind::io, "none");
  EXPECT_FALSE(std::filesystem::exists(folder / "u"));
}

}  // namespace
}  // namespace regard::testing
