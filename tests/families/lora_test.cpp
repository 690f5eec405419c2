// LoRA adapters of PEFT: outputs, losses, gradients and merged weights compared with PEFT, for every folder
// of tests/data/lora (made by tools/make_lora_goldens.py; gpt2 and llama with a script outside of this
// project).
#include "models/lora.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/file.h"
#include "inspect/run_tensors.h"
#include "models/weights.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

constexpr const char* kInputs[] = {"input_ids", "attention_mask", "labels", "decoder_input_ids",
                                   "pixel_values"};

class Peft : public ::testing::TestWithParam<std::string> {
 protected:
  Peft() : pool_(2), folder_(testing::golden("lora/" + GetParam())) {
    golden_ = formats::SafetensorsFile::open(folder_ / "golden.safetensors");
    for (const char* name : kInputs)
      if (golden_->find(name) != nullptr) inputs_[name] = golden_->tensor(name);
  }

  std::unique_ptr<Network> base(WeightMode mode = WeightMode::widened) const {
    return load_model(formats::ModelFolder::open(folder_), mode);
  }
  inspect::TensorMap run(Network& model, const char* what = "all") {
    inspect::TensorRunOptions options;
    options.capture = {what};
    options.compute_padding = true;
    return inspect::run_tensors(model, pool_, inputs_, options);
  }
  void expect_logits(Network& model, const std::string& golden) {
    EXPECT_LE(testing::output_error(run(model, "logits").at("logits"), golden_->tensor(golden)), 1.0);
  }

  ThreadPool pool_;
  std::filesystem::path folder_;
  std::shared_ptr<const formats::SafetensorsFile> golden_;
  inspect::TensorMap inputs_;
};

// Convert the name of an adapter's tensor to its name in the results of run_tensors(), where complete weights
// have the base model's names.
std::string result_name(std::string name) {
  if (name.find(".lora_") != std::string::npos) return "grad." + name;
  for (const std::string part : {"base_model.model.", ".base_layer", ".modules_to_save"})
    if (const std::size_t at = name.find(part); at != name.npos) name.erase(at, part.size());
  return "grad." + name;
}

TEST_P(Peft, OutputsLossAndGradients) {
  const auto model = base();
  const Lora lora(*model, folder_ / "adapter");
  const inspect::TensorMap results = run(*model);
  EXPECT_LE(testing::output_error(results.at("logits"), golden_->tensor("logits")), 1.0);
  EXPECT_LE(testing::output_error(results.at("loss"), golden_->tensor("loss")), 1.0);
  std::size_t gradients = 0;
  for (const formats::TensorEntry& entry : golden_->entries()) {
    if (!entry.name.starts_with("grad.")) continue;
    const auto found = results.find(result_name(entry.name.substr(5)));
    ASSERT_NE(found, results.end()) << entry.name;
    EXPECT_LE(testing::gradient_error(found->second, golden_->tensor(entry.name)), 1.0) << entry.name;
    ++gradients;
  }
  EXPECT_GE(gradients, lora.tensors().size()) << "every weight of the adapter has a golden gradient";
}

TEST_P(Peft, WeightsStoredForInferenceGiveTheSameLogits) {
  const auto model = base(WeightMode::stored);
  const Lora lora(*model, folder_ / "adapter");
  model->prepare_for_inference(pool_);
  expect_logits(*model, "logits");
}

TEST_P(Peft, MergedWeights) {
  const auto model = base();
  Lora lora(*model, folder_ / "adapter");
  lora.merge(pool_);
  const std::vector<formats::NamedTensor> left = lora.tensors();
  EXPECT_TRUE(std::none_of(left.begin(), left.end(), [](const auto& tensor) {
    return tensor.name.find(".lora_") != std::string::npos;
  }));
  std::size_t compared = 0;
  const std::vector<Parameter*> parameters = model->parameters();
  const std::vector<std::string> names = models::full_names(*model, models::NameStyle::module);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = "merged." + names[i];
    if (golden_->find(name) == nullptr) continue;
    EXPECT_LE(testing::output_error(parameters[i]->value(), golden_->tensor(name)), 0.1) << name;
    ++compared;
  }
  const auto merged = std::count_if(golden_->entries().begin(), golden_->entries().end(),
                                    [](const auto& entry) { return entry.name.starts_with("merged."); });
  EXPECT_EQ(static_cast<std::ptrdiff_t>(compared), merged);
  expect_logits(*model, golden_->find("merged_logits") != nullptr ? "merged_logits" : "logits");
}

// A new adapter of the same configuration has tensors with PEFT's names and shapes. Written and read again,
// it computes the same bits.
TEST_P(Peft, WritesFoldersThatPeftWrites) {
  const std::string file = (folder_ / "adapter" / kAdapterConfig).string();
  const Json config = read_json(file);
  const auto model = base();
  Lora lora(*model, LoraConfig::from_json(config, file), 1);
  const auto peft = formats::SafetensorsFile::open(folder_ / "adapter" / kAdapterWeights);
  std::vector<std::string> expected, written;
  for (const formats::TensorEntry& entry : peft->entries())
    if (entry.name.find("original_module") == std::string::npos &&
        entry.name.find("modules_to_save") == std::string::npos)
      expected.push_back(entry.name + Json(entry.shape).dump());
  for (const formats::NamedTensor& tensor : lora.tensors()) {
    const auto sizes = tensor.tensor.shape().sizes();
    written.push_back(tensor.name + Json(std::vector<std::int64_t>(sizes.begin(), sizes.end())).dump());
  }
  std::sort(expected.begin(), expected.end());
  std::sort(written.begin(), written.end());
  EXPECT_EQ(written, expected);

  const Json ours = lora.config_json(peft_task_type(*model));
  for (const char* key : {"r", "lora_alpha", "use_rslora", "target_modules", "rank_pattern", "alpha_pattern",
                          "layers_to_transform", "layers_pattern", "bias", "modules_to_save",
                          "exclude_modules", "fan_in_fan_out", "task_type", "peft_type"})
    if (key != std::string("target_modules") || !ours[key].is_array()) {  // the order of PEFT's list varies
      EXPECT_EQ(ours[key], config[key]) << key;
    }

  // B is zero at the start, so a new adapter does not change the model.
  const inspect::TensorMap start = run(*model, "logits"), plain = run(*base(), "logits");
  EXPECT_LE(testing::output_error(start.at("logits"), plain.at("logits")), 0.01);

  lora.load(folder_ / "adapter");
  const testing::TemporaryFolder folder;
  formats::write_safetensors(folder / kAdapterWeights, lora.tensors());
  write_file_atomically(folder / kAdapterConfig, ours.dump(2));
  const auto again = base();
  const Lora read(*again, folder.path());
  const Tensor first = run(*model, "logits").at("logits"), second = run(*again, "logits").at("logits");
  EXPECT_EQ(std::memcmp(first.data(), second.data(), first.bytes()), 0);
  EXPECT_LE(testing::output_error(first, golden_->tensor("logits")), 1.0);
}

// `regard run --adapter` applies an adapter, and `regard convert --adapter` merges it.
TEST_P(Peft, TheProgramTakesAdapters) {
  const testing::TemporaryFolder folder;
  std::vector<formats::NamedTensor> inputs;
  for (const auto& [name, tensor] : inputs_) inputs.push_back({name, tensor});
  formats::write_safetensors(folder / "in.safetensors", inputs);
  const auto logits = [&](const std::string& model, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{
        "run",       model,    "-i",        "in.safetensors", "-o", "out.safetensors",
        "--capture", "logits", "--padding", "computed"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const testing::ProgramResult result = testing::run_program(arguments, folder.path());
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return formats::SafetensorsFile::open(folder / "out.safetensors")->tensor("logits").clone();
  };
  const std::string adapter = (folder_ / "adapter").string(), base = folder_.string();
  EXPECT_LE(testing::output_error(logits(base, {"--adapter", adapter}), golden_->tensor("logits")), 1.0);
  const testing::ProgramResult merged =
      testing::run_program({"convert", base, "merged", "--adapter", adapter}, folder.path());
  ASSERT_EQ(merged.exit_code, 0) << merged.err;
  EXPECT_LE(testing::output_error(logits("merged", {}), golden_->tensor("logits")), 1.0);
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& item : std::filesystem::directory_iterator(testing::golden("lora")))
    names.push_back(item.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Lora, Peft, ::testing::ValuesIn(cases()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// transformers 4 and transformers 5 have different names for the modules of ViT. An adapter with either set
// of names is read, and written with the same names; an adapter with both is refused.
TEST(LoraNames, AdaptersOfTransformers4) {
  const std::filesystem::path base = testing::golden("lora/vit-all-linear");
  const testing::TemporaryFolder folder;
  const auto file = formats::SafetensorsFile::open(base / "adapter" / kAdapterWeights);
  const auto model = load_model(formats::ModelFolder::open(base));
  std::vector<formats::NamedTensor> tensors;
  for (const formats::TensorEntry& entry : file->entries()) {
    std::string name = entry.name;
    for (const auto& [old, part] : model->name_rules().modules)
      if (const std::size_t at = name.find(part); at != name.npos) name.replace(at, part.size(), old);
    tensors.push_back({name, file->tensor(entry.name)});
  }
  Json config = read_json((base / "adapter" / kAdapterConfig).string());
  config["rank_pattern"] = {{"intermediate.dense", 3}};
  write_file_atomically(folder / kAdapterConfig, config.dump());
  formats::write_safetensors(folder / kAdapterWeights, tensors);
  const Lora old(*model, folder.path());
  ASSERT_EQ(old.tensors().size(), tensors.size());
  for (const formats::NamedTensor& ours : old.tensors()) {
    const auto given = std::find_if(tensors.begin(), tensors.end(),
                                    [&](const auto& tensor) { return tensor.name == ours.name; });
    ASSERT_NE(given, tensors.end()) << ours.name;
    EXPECT_EQ(std::memcmp(ours.tensor.data(), given->tensor.data(), ours.tensor.bytes()), 0) << ours.name;
  }
  // The outputs equal the golden outputs of the adapter with transformers 5 names.
  inspect::TensorMap inputs;
  const auto golden = formats::SafetensorsFile::open(base / "golden.safetensors");
  inputs["pixel_values"] = golden->tensor("pixel_values");
  ThreadPool pool(1);
  inspect::TensorRunOptions options;
  options.capture = {"logits"};
  const inspect::TensorMap outputs = inspect::run_tensors(*model, pool, inputs, options);
  EXPECT_LE(testing::output_error(outputs.at("logits"), golden->tensor("logits")), 1.0);

  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (const std::string& name = file->entries()[i].name; name.find("layers.0.") != name.npos)
      tensors[i].name = name;
  formats::write_safetensors(folder / kAdapterWeights, tensors);
  const auto third = load_model(formats::ModelFolder::open(base));
  EXPECT_REGARD_ERROR(Lora(*third, folder.path()), ErrorKind::bad_file, "matches no weight of the model");
}

TEST(LoraNames, TargetsOfEitherTransformers) {
  const std::filesystem::path base = testing::golden("lora/vit-all-linear");
  for (const auto& [target, module] : std::vector<std::pair<std::string, std::string>>{
           {"q_proj", "vit.layers.0.attention.q_proj"},
           {"query", "vit.encoder.layer.0.attention.attention.query"}}) {
    const auto model = load_model(formats::ModelFolder::open(base));
    LoraConfig config;
    config.targets = {target};
    const Lora lora(*model, config, 1);
    ASSERT_EQ(lora.tensors().size(), 4U);
    EXPECT_EQ(lora.tensors()[0].name, "base_model.model." + module + ".lora_A.weight");
  }
  // In PEFT's models, the patch projection is a convolution, so it cannot be a target.
  const auto model = load_model(formats::ModelFolder::open(base));
  LoraConfig config;
  config.targets = {"projection"};
  EXPECT_REGARD_ERROR(Lora(*model, config, 1), ErrorKind::usage, "q_proj");
}

class BadAdapter : public ::testing::Test {
 protected:
  BadAdapter() {
    config_ = read_json(testing::golden("lora/gpt2/adapter/adapter_config.json").string());
    const auto file =
        formats::SafetensorsFile::open(testing::golden("lora/gpt2/adapter/adapter_model.safetensors"));
    for (const formats::TensorEntry& entry : file->entries())
      tensors_.push_back({entry.name, file->tensor(entry.name)});
  }
  void open() {
    write_file_atomically(folder_ / kAdapterConfig, config_.dump(2));
    formats::write_safetensors(folder_ / kAdapterWeights, tensors_);
    const auto model = load_model(formats::ModelFolder::open(testing::golden("lora/gpt2")));
    const Lora lora(*model, folder_.path());
  }
  Json config_;
  std::vector<formats::NamedTensor> tensors_;
  testing::TemporaryFolder folder_;
};

TEST_F(BadAdapter, AnotherMethodIsRefused) {
  config_["peft_type"] = "IA3";
  EXPECT_REGARD_ERROR(open(), ErrorKind::bad_file, "IA3");
}
TEST_F(BadAdapter, DoraIsRefused) {
  config_["use_dora"] = true;
  EXPECT_REGARD_ERROR(open(), ErrorKind::bad_file, "use_dora");
}
TEST_F(BadAdapter, RankMustBePositive) {
  config_["r"] = 0;
  EXPECT_REGARD_ERROR(open(), ErrorKind::bad_file, "rank");
}
TEST_F(BadAdapter, PatternsMustBeRegularExpressions) {
  config_["alpha_pattern"] = {{"(", 2}};
  EXPECT_REGARD_ERROR(open(), ErrorKind::bad_file, "regular expression");
}
TEST_F(BadAdapter, ExcludedModulesMustBeNames) {
  config_["exclude_modules"] = "(";
  EXPECT_REGARD_ERROR(open(), ErrorKind::bad_file, "regular expression");
  config_["exclude_modules"] = 3;
  EXPECT_REGARD_ERROR(open(), ErrorKind::bad_file, "exclude_modules");
}
TEST_F(BadAdapter, TensorsMustFit) {
  tensors_[0].tensor = Tensor::zeros({4, 31});
  EXPECT_REGARD_ERROR(open(), ErrorKind::bad_file, "does not fit the model");
  for (const Shape& shape : {Shape{4}, Shape{4, 32, 1}, Shape{0, 32}}) {
    tensors_[0].tensor = Tensor::zeros(shape);
    EXPECT_REGARD_ERROR(open(), ErrorKind::bad_file,
                        "\"" + tensors_[0].name +
                            "\" has a wrong shape (expected a matrix [rank, in] with a "
                            "rank of at least 1, found " +
                            shape.text() + ")");
  }
}
TEST_F(BadAdapter, AnotherModelsTensorsAreRefused) {
  for (auto& tensor : tensors_) tensor.name.replace(tensor.name.find(".h."), 3, ".layers.");
  EXPECT_REGARD_ERROR(open(), ErrorKind::bad_file, "matches no weight of the model");
}
TEST_F(BadAdapter, PairsMustBeWhole) {
  std::erase_if(tensors_,
                [](const auto& tensor) { return tensor.name.ends_with("0.attn.c_attn.lora_B.weight"); });
  EXPECT_REGARD_ERROR(open(), ErrorKind::bad_file, "lora_B");
  std::erase_if(tensors_,
                [](const auto& tensor) { return tensor.name.ends_with("1.attn.c_attn.lora_A.weight"); });
  std::erase_if(tensors_,
                [](const auto& tensor) { return tensor.name.ends_with("0.attn.c_attn.lora_A.weight"); });
  EXPECT_REGARD_ERROR(open(), ErrorKind::bad_file, "lora_A.weight and");
}

}  // namespace
}  // namespace regard::testing
