// save_model() preserves names, layouts, dtypes and the other files of a folder. The saved model has the same
// bits.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "base/file.h"
#include "models/weights.h"
#include "ops/parameter.h"
#include "support/hf_folder.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using testing::TemporaryFolder;

std::map<std::string, Tensor> tensors_of(const std::filesystem::path& folder) {
  std::map<std::string, Tensor> all;
  const formats::Weights weights = formats::Weights::open(folder);
  for (const std::string& name : weights.names()) all[name] = weights.tensor(name);
  return all;
}

void expect_equal(const std::map<std::string, Tensor>& before, const std::map<std::string, Tensor>& after,
                  const std::string& what) {
  ASSERT_EQ(before.size(), after.size()) << what;
  for (const auto& [name, tensor] : before) {
    ASSERT_TRUE(after.count(name)) << what << " " << name;
    const Tensor& other = after.at(name);
    EXPECT_EQ(tensor.dtype(), other.dtype()) << what << " " << name;
    ASSERT_EQ(tensor.shape(), other.shape()) << what << " " << name;
    EXPECT_EQ(std::memcmp(tensor.data(), other.data(), tensor.bytes()), 0) << what << " " << name;
  }
}

TEST(Saved, EveryFolderComesBackBitForBit) {
  const TemporaryFolder place;
  std::vector<std::filesystem::path> folders;
  for (const char* set : {"hf-tiny", "hf-open"})
    for (const auto& item : std::filesystem::directory_iterator(testing::golden(set)))
      if (item.is_directory()) folders.push_back(item.path());
  for (const std::filesystem::path& folder : folders) {
    const std::string name = folder.parent_path().filename().string() + "-" + folder.filename().string();
    const auto from = formats::ModelFolder::open(folder);
    const auto model = load_model(from);
    const auto to = place.path() / name;
    save_model(*model, from, to);
    expect_equal(tensors_of(from.path), tensors_of(to), name);
    EXPECT_EQ(read_file(from.path / "config.json"), read_file(to / "config.json")) << name;
    const auto again = load_model(formats::ModelFolder::open(to));
    const auto before = model->parameters(), after = again->parameters();
    ASSERT_EQ(before.size(), after.size()) << name;
    for (std::size_t i = 0; i < before.size(); ++i)
      EXPECT_EQ(std::memcmp(before[i]->value().data(), after[i]->value().data(), before[i]->value().bytes()),
                0)
          << name << " " << before[i]->name;
  }
}

TEST(Saved, AsHalfPrecision) {
  const TemporaryFolder place;
  const auto from = formats::ModelFolder::open(testing::HfFolder("gpt2").path);
  save_model(*load_model(from), from, place.path() / "half", DType::bf16);
  for (const auto& [name, tensor] : tensors_of(place.path() / "half"))
    EXPECT_EQ(tensor.dtype(), DType::bf16) << name;
  EXPECT_REGARD_ERROR(save_model(*load_model(from), from, place.path() / "half"), ErrorKind::usage,
                      "the output path exists already");
}

// A copy of a model folder whose tensors can be renamed, added or changed before it is opened.
class Renamed {
 public:
  explicit Renamed(const std::string& name)
      : from_(formats::ModelFolder::open(testing::HfFolder(name).path)) {
    for (const auto& [tensor, value] : tensors_of(from_.path)) tensors_.push_back({tensor, value});
  }
  std::vector<formats::NamedTensor>& tensors() { return tensors_; }
  Tensor tensor(const std::string& name) const { return tensors_of(from_.path).at(name); }
  std::unique_ptr<Network> open() {
    write_file_atomically(place_.path() / "config.json", from_.config.dump());
    formats::write_safetensors(place_.path() / "model.safetensors", tensors_);
    return load_model(formats::ModelFolder::open(place_.path()));
  }

 private:
  formats::ModelFolder from_;
  TemporaryFolder place_;
  std::vector<formats::NamedTensor> tensors_;
};

void replace(std::string& text, const std::string& from, const std::string& to) {
  if (const std::size_t at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
}

TEST(OldNames, AreKnownAndWrittenBack) {
  Renamed renamed("bert-mlm");
  for (auto& item : renamed.tensors()) {
    replace(item.name, "LayerNorm.weight", "LayerNorm.gamma");
    replace(item.name, "LayerNorm.bias", "LayerNorm.beta");
    if (item.name.starts_with("bert.")) item.name = item.name.substr(5);  // remove the prefix
  }
  const auto model = renamed.open();
  std::vector<std::string> names;
  for (const auto& item : weights_of(*model)) names.push_back(item.name);
  for (const auto& item : renamed.tensors())
    EXPECT_NE(std::find(names.begin(), names.end(), item.name), names.end()) << item.name;
}

TEST(OldNames, BuffersAndOtherHeadsAreLetPassAndKept) {
  Renamed renamed("bert-mlm");
  renamed.tensors().push_back({"bert.embeddings.position_ids", Tensor::zeros({1, 32}, DType::i64)});
  renamed.tensors().push_back({"bert.pooler.dense.weight", Tensor::zeros({32, 32})});
  renamed.tensors().push_back({"cls.seq_relationship.weight", Tensor::zeros({2, 32})});
  EXPECT_EQ(weights_of(*renamed.open()).size(), renamed.tensors().size());
}

TEST(OldNames, VersionNumbersOfFairseqAreLetPassAndKept) {
  Renamed renamed("bart");
  for (const std::string side : {"encoder", "decoder"})
    renamed.tensors().push_back({"model." + side + ".version", Tensor::of({3.0f})});
  EXPECT_EQ(weights_of(*renamed.open()).size(), renamed.tensors().size());
}

// GPT2Attention of transformers before version 4.30 saved its causal mask and the value of masked scores,
// also for cross-attention.
TEST(OldNames, MasksOfCrossAttentionAreLetPassAndKept) {
  Renamed renamed("vit-gpt2");
  for (const std::string attention : {"attn", "crossattention"}) {
    const std::string prefix = "decoder.transformer.h.0." + attention;
    renamed.tensors().push_back({prefix + ".bias", Tensor::zeros({1, 1, 8, 8})});
    renamed.tensors().push_back({prefix + ".masked_bias", Tensor::of({-1e4f})});
  }
  EXPECT_EQ(weights_of(*renamed.open()).size(), renamed.tensors().size());
}

TEST(TiedWeights, MayBeStoredTwiceIfTheyAreEqual) {
  Renamed renamed("gpt2");
  renamed.tensors().push_back({"lm_head.weight", renamed.tensor("transformer.wte.weight")});
  EXPECT_EQ(weights_of(*renamed.open()).size(), renamed.tensors().size());
  Tensor& copy = renamed.tensors().back().tensor;
  copy = copy.clone();
  copy.f32()[5] += 1.0f;
  EXPECT_REGARD_ERROR(renamed.open(), ErrorKind::bad_file, "\"lm_head.weight\" differs");
}

TEST(TiedWeights, MayBeStoredAsTheCopyAlone) {
  Renamed renamed("gpt2");
  for (auto& item : renamed.tensors())
    if (item.name == "transformer.wte.weight") item.name = "lm_head.weight";
  EXPECT_EQ(renamed.open()->parameters()[0]->name, "lm_head.weight");
}

// transformers ignores num_labels if there is an id2label.
TEST(LabelCount, IsTheSizeOfId2Label) {
  Json config = formats::ModelFolder::open(testing::HfFolder("bert-classifier").path).config;
  config["id2label"] = Json{{"0", "no"}, {"1", "maybe"}, {"2", "yes"}, {"3", "other"}};
  config["num_labels"] = 2;
  EXPECT_EQ(make_model(config)->labels(), 4);
  config.erase("id2label");
  EXPECT_EQ(make_model(config)->labels(), 2);
}

TEST(UnknownFamily, IsNamedWithThoseThatAreThere) {
  EXPECT_REGARD_ERROR(make_model(Json{{"model_type", "gpt_neox"}}, "c.json"), ErrorKind::bad_file,
                      "gpt_neox");
  EXPECT_REGARD_ERROR(make_model(Json{{"model_type", "gpt_2"}}, "c.json"), ErrorKind::bad_file,
                      "nearest name is \"gpt2\"");
}

}  // namespace
}  // namespace regard::testing
