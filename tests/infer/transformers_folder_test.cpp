// Runs converted to transformers' folders: the files are bit-identical to the golden ones, and both the run
// folder and the converted one give the outputs of transformers.
#include "infer/transformers_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/file.h"
#include "formats/checkpoint.h"
#include "infer/folder_options.h"
#include "infer/loaded_model.h"
#include "inspect/generate_tensors.h"
#include "inspect/run_tensors.h"
#include "models/transformers_class.h"
#include "support/checkpoints.h"
#include "support/golden.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"
#include "support/tiny_models.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;
using testing::Golden;
using testing::TemporaryFolder;

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& item : fs::directory_iterator(folder)) names.insert(item.path().filename().string());
  return names;
}

std::vector<std::string> shapes() {
  std::vector<std::string> names;
  for (const auto& item : fs::directory_iterator(testing::golden("convert")))
    if (item.is_directory()) names.push_back(item.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Converted : public ::testing::TestWithParam<std::string> {
 protected:
  Converted() : golden_("convert", GetParam()), pool_(2) {}
  fs::path part(const char* name) const { return testing::golden("convert") / GetParam() / name; }

  // Return the named inputs, without those that the golden file lacks.
  inspect::TensorMap inputs(std::vector<std::string> names) const {
    inspect::TensorMap all;
    for (const std::string& name : names)
      if (golden_.has(name)) all[name] = golden_.tensor(name);
    return all;
  }

  void expect_outputs(const fs::path& folder) {
    const auto opened = formats::ModelFolder::open(folder);
    const auto model = load_model(opened);
    const auto results = inspect::run_tensors(
        *model, pool_, inputs({"input_ids", "attention_mask", "decoder_input_ids", "position_ids"}), {});
    const Tensor mask = golden_.tensor("attention_mask");
    std::size_t compared = 0;
    for (const char* name : {"logits", "encoder_last_hidden_state"}) {
      // The transformers class orders the features of sinusoidal positions differently, so hidden states have
      // their features in another order.
      const bool reordered = infer::is_own_model(opened) && std::string(name) != "logits";
      if (!golden_.has(name) || reordered) continue;
      Tensor expected = golden_.tensor(name).clone();
      if (expected.shape()[1] == mask.shape()[1])  // padded positions are zeros
        for (std::int64_t place = 0; place < mask.elements(); ++place)
          if (mask.i64()[place] == 0) std::fill_n(expected.row(place), expected.columns(), 0.0f);
      EXPECT_LE(testing::output_error(results.at(name), expected), 1.0) << folder << " " << name;
      ++compared;
    }
    EXPECT_GE(compared, 1u);
  }

  void expect_generated(const fs::path& folder) {
    const auto opened = formats::ModelFolder::open(folder);
    const auto model = load_model(opened);
    for (const auto& [name, arguments] : golden_.about()["generation"].items()) {
      const bool own_length = infer::is_own_model(opened) && arguments.empty();
      if (own_length) continue;  // the default length limit of a run folder is another one
      formats::ModelFolder asked = opened;
      for (const auto& [key, value] : arguments.items()) (*asked.generation_config)[key] = value;
      const auto results = inspect::generate_tensors(*model, pool_, inputs({"input_ids", "attention_mask"}),
                                                     infer::search_options_of(asked));
      const Tensor expected = golden_.tensor(name), found = results.at("sequences");
      ASSERT_EQ(found.shape().text(), expected.shape().text()) << folder << " " << name;
      EXPECT_TRUE(std::equal(expected.i64(), expected.i64() + expected.elements(), found.i64()))
          << folder << " " << name;
    }
  }

  Golden golden_;
  ThreadPool pool_;
};

TEST_P(Converted, IsWrittenBitForBit) {
  const TemporaryFolder place;
  infer::save_for_transformers(formats::ModelFolder::open(part("run")), place / "converted");
  ASSERT_EQ(names_in(place / "converted"), names_in(part("converted")));
  for (const std::string& name : names_in(part("converted")))
    EXPECT_TRUE(read_file(place / "converted" / name) == read_file(part("converted") / name)) << name;
}

TEST_P(Converted, ComputesWhatTransformersComputes) {
  expect_outputs(part("run"));
  expect_outputs(part("converted"));
}

TEST_P(Converted, GeneratesWhatTransformersGenerates) {
  expect_generated(part("run"));
  expect_generated(part("converted"));
}

TEST_P(Converted, ReadsTextAsAutoTokenizerDoes) {
  const auto run = infer::LoadedModel::open(part("run")),
             converted = infer::LoadedModel::open(part("converted"));
  const bool both = run.model->kind() == ModelKind::encoder_decoder;
  for (const Json& one : golden_.about()["texts"]) {
    const auto text = one["text"].get<std::string>();
    const auto expected = one["ids"].get<std::vector<std::int32_t>>();
    for (const infer::LoadedModel* model : {&run, &converted})
      EXPECT_EQ(both ? model->encode_source(text) : model->encode_prompt(text), expected) << text;
  }
  // The converted folder keeps the run's limit, although transformers needs max_length.
  EXPECT_EQ(converted.options.max_length, 0);
  EXPECT_TRUE(converted.options.max_new == 0 || converted.options.max_new == infer::kDefaultNew);
  EXPECT_EQ(run.options.beam, converted.options.beam);
  for (std::int32_t id = 0; id < run.target->vocabulary_size(); ++id)
    EXPECT_EQ(run.target->token_of(id), converted.target->token_of(id));
}

// The converted tokenizer itself normalises white space like the run, since AutoTokenizer does not read the
// setting in generation_config.json.
TEST(ConvertedTokenizer, NormalizesWhiteSpaceAsTheRunDoes) {
  const TemporaryFolder place;
  fs::copy(testing::golden("convert") / "pegasus" / "run", place / "run", fs::copy_options::recursive);
  const auto record = [](const fs::path& folder, bool on) {
    Json json = read_json((folder / "generation_config.json").string());
    json[infer::kNormalizeWhitespace] = on;
    write_file_atomically(folder / "generation_config.json", json.dump());
  };
  record(place / "run", true);
  infer::save_for_transformers(formats::ModelFolder::open(place / "run"), place / "converted");
  record(place / "converted", false);
  const auto run = infer::LoadedModel::open(place / "run");
  const auto converted = infer::LoadedModel::open(place / "converted");
  const std::string plain = "the man beats the boy";
  for (const std::string& text :
       {plain, "  " + plain + "\t\n", "\xEF\xBB\xBF" + plain,
        std::string("the  man\tbeats \u00A0 the\v\fboy"), std::string("the\u00A0man beats\u3000the boy"),
        std::string("the\u00A0\u00A0man"), std::string(" \t ")})
    EXPECT_EQ(converted.encode_source(text), run.encode_source(text)) << text;
  EXPECT_EQ(converted.encode_source("  the  man "), run.encode_source("the man"));
}

// A null value is a missing key, and a value of a wrong type is an error of the file.
TEST(ConvertedTokenizer, ChecksTheWhiteSpaceSetting) {
  const TemporaryFolder place;
  fs::copy(testing::golden("convert") / "pegasus" / "run", place / "run", fs::copy_options::recursive);
  const std::string file = (place / "run" / "generation_config.json").string();
  Json json = read_json(file);
  const auto convert = [&](const Json& value) {
    json[infer::kNormalizeWhitespace] = value;
    write_file_atomically(file, json.dump());
    infer::save_for_transformers(formats::ModelFolder::open(place / "run"), place / "converted");
  };
  EXPECT_REGARD_ERROR(convert("yes"), ErrorKind::bad_file, file);
  convert(nullptr);
  EXPECT_TRUE(fs::exists(place / "converted" / "tokenizer.json"));
}

// An end token outside the vocabulary is refused when the folder is opened, because some commands append it.
TEST(EndTokens, AreInTheVocabulary) {
  const TemporaryFolder place;
  write_text_model(place / "gpt", "gpt");
  const std::string file = (place / "gpt" / "generation_config.json").string();
  const Json good = read_json(file);
  const infer::FolderSettings given{.values = {{"eos_token_id", 100000}}};
  EXPECT_REGARD_ERROR(infer::LoadedModel::open(place / "gpt", given), ErrorKind::usage, "found 100000");
  Json bad = good;
  bad["eos_token_id"] = {3, 2000000};
  write_file_atomically(file, bad.dump());
  EXPECT_REGARD_ERROR(infer::LoadedModel::open(place / "gpt"), ErrorKind::bad_file, file);
  EXPECT_REGARD_ERROR(infer::LoadedModel::open(place / "gpt"), ErrorKind::bad_file, "found 2000000");
  bad["eos_token_id"] = {3, -1};
  write_file_atomically(file, bad.dump());
  EXPECT_EQ(infer::LoadedModel::open(place / "gpt").options.end_tokens, std::vector<std::int32_t>{3});
}

// An error in a setting of generation names the file that contains the setting.
TEST(GenerationSettings, ErrorsNameTheirFile) {
  const TemporaryFolder place;
  write_text_model(place / "gpt", "gpt");
  const std::string file = (place / "gpt" / "generation_config.json").string();
  const Json good = read_json(file);
  for (const auto& [key, value] : {std::pair<const char*, Json>{"num_beams", "three"},
                                   {"early_stopping", 2},
                                   {"sequence_bias", {{{3}, 1.0}, 4}},
                                   {"eos_token_id", "end"}}) {
    Json bad = good;
    bad[key] = value;
    write_file_atomically(file, bad.dump());
    EXPECT_REGARD_ERROR(infer::LoadedModel::open(place / "gpt"), ErrorKind::bad_file, file);
    EXPECT_REGARD_ERROR(infer::LoadedModel::open(place / "gpt"), ErrorKind::bad_file, key);
  }
}

TEST_P(Converted, InHalfPrecisionSaysSo) {
  const TemporaryFolder place;
  infer::save_for_transformers(formats::ModelFolder::open(part("run")), place / "half", DType::bf16);
  const auto half = formats::ModelFolder::open(place / "half");
  EXPECT_EQ(half.config.at("dtype"), "bfloat16");
  const formats::Weights weights = half.weights();
  for (const std::string& name : weights.names())
    EXPECT_EQ(weights.tensor(name).dtype(), DType::bf16) << name;
}

INSTANTIATE_TEST_SUITE_P(Shapes, Converted, ::testing::ValuesIn(shapes()), [](const auto& about) {
  std::string name = about.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TransformerConfig translator() {
  TransformerConfig config;
  config.vocabulary = 20, config.decoder_start_token_id = 1;
  return config;
}

TransformerConfig language_model() {
  TransformerConfig config = translator();
  config.kind = "decoder", config.positions = "learned", config.max_positions = 8;
  return config;
}

TEST(NoClass, IsRefusedByTheKeyOfTheRunFile) {
  struct Case {
    const char* key;
    TransformerConfig config;
  };
  std::vector<Case> cases;
  const auto add = [&](const char* key, TransformerConfig config, auto&& change) {
    change(config);
    config.check();
    cases.push_back({key, config});
  };
  using Config = TransformerConfig&;
  add("model.norm_kind", translator(), [](Config c) { c.norm_kind = "rms"; });
  add("model.gated", translator(), [](Config c) { c.gated = true; });
  add("model.norm_epsilon", translator(), [](Config c) { c.norm_epsilon = 1e-6; });
  add("model.positions", translator(), [](Config c) { c.positions = "rotary"; });
  add("model.positions", translator(), [](Config c) { c.norm = "post", c.positions = "none"; });
  add("model.head_size", translator(), [](Config c) { c.head_size = 128; });
  add("tokenizer.joint", translator(), [](Config c) { c.source_vocabulary = 21, c.tie_embeddings = "none"; });
  add("model.norm", language_model(), [](Config c) { c.norm = "post"; });
  add("model.norm_kind", language_model(), [](Config c) { c.norm_kind = "rms"; });
  add("model.norm_kind", language_model(), [](Config c) { c.positions = "rotary"; });
  add("model.gated", language_model(), [](Config c) { c.gated = true; });
  add("kind", language_model(), [](Config c) { c.kind = "encoder"; });
  for (const Case& one : cases)
    EXPECT_REGARD_ERROR(transformers_config(one.config), ErrorKind::usage, "'" + std::string(one.key) + "'");
}

TEST(NoClass, IsRefusedBeforeAnythingIsWritten) {
  const TemporaryFolder place;
  fs::create_directories(place / "run");
  write_file_atomically(place / "run" / "config.json", testing::tiny_config("postnorm").to_json().dump());
  EXPECT_REGARD_ERROR(
      infer::save_for_transformers(formats::ModelFolder::open(place / "run"), place / "converted"),
      ErrorKind::usage, "'model.positions'");
  EXPECT_FALSE(fs::exists(place / "converted"));
}

// The files of a run's checkpoint are compared with the manifest once, when the folder is opened. While the
// run continues, the model is loaded from the checkpoint whose config was read.
TEST(OpenFolder, LoadsTheModelOfTheSameCheckpoint) {
  const TemporaryFolder folder;
  write_text_model(folder / "small", "gpt");
  write_text_model(folder / "large", "gpt", 96);
  const auto run = formats::RunFolder::create(folder / "run", "");
  add_checkpoint(run, 1, folder / "small", {.best = true});
  const formats::ModelFolder opened = formats::ModelFolder::open(run.path());
  fs::remove(opened.path / "manifest.json");
  add_checkpoint(run, 2, folder / "large", {.best = true});
  const auto loaded = infer::LoadedModel::open(opened, {.weight_mode = WeightMode::stored});
  EXPECT_EQ(loaded.folder.given, run.path());
  EXPECT_NE(loaded.model->max_positions(), 96);
  EXPECT_EQ(infer::LoadedModel::open(run.path()).model->max_positions(), 96);
}

// The files of a checkpoint can be read as long as its model is loaded, even if training replaces it.
TEST(OpenFolder, KeepsTheCheckpointOfALoadedModel) {
  const TemporaryFolder folder;
  write_text_model(folder / "model", "gpt");
  const auto run = formats::RunFolder::create(folder / "run", "");
  const auto add = [&](std::int64_t step) {
    add_checkpoint(run, step, folder / "model", {.best = true, .keep_last = 1});
  };
  add(1);
  {
    const auto loaded = infer::LoadedModel::open(run.path());
    add(2);
    EXPECT_EQ(loaded.folder.path, run.checkpoint_folder(1));
    EXPECT_TRUE(fs::exists(loaded.folder.tokenizer / "tokenizer.json"));
  }
  add(3);
  EXPECT_EQ(run.steps(), std::vector<std::int64_t>{3});
}

}  // namespace
}  // namespace regard::testing
