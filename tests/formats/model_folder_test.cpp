// Model folders: untrusted JSON, weights in one file or in shards, and folders that are not models.
#include "formats/model_folder.h"

#include <gtest/gtest.h>

#include "formats/checkpoint.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::formats {
namespace {

using testing::golden;
using testing::TemporaryFolder;

// Create a model folder with this config and one tensor.
void make_model_folder(const std::filesystem::path& path, std::string_view config) {
  std::filesystem::create_directory(path);
  write_file_atomically(path / "config.json", config);
  const std::vector<NamedTensor> tensors = {{"w", Tensor::of({1, 2})}};
  write_safetensors(path / "model.safetensors", tensors);
}

// Read the hidden size of the config, the value that most of the hostile files change.
std::int64_t hidden_size(const std::filesystem::path& folder) {
  const ModelFolder model = ModelFolder::open(folder);
  return require_in<std::int64_t>(model.config, "hidden_size", model.config_file, 1, 1 << 20);
}

TEST(ModelFolder, HostileConfigsAreRefusedAsTheManifestSays) {
  const Json manifest = read_json(golden("config-bad/manifest.json").string());
  ASSERT_GT(manifest.size(), 50u);
  const TemporaryFolder temporary;
  int accepted = 0;
  for (const Json& one : manifest) {
    const std::string name = one["file"];
    const auto folder = temporary / name;
    make_model_folder(folder, read_file(golden("config-bad/" + name)));
    const std::string label = name + ": " + one["reason"].get<std::string>();
    // Files whose treatment the manifest leaves undefined are rejected.
    if (one["expect"] == "accept") {
      EXPECT_NO_THROW(EXPECT_EQ(hidden_size(folder), 16)) << label;
      ++accepted;
    } else {
      EXPECT_REGARD_ERROR(hidden_size(folder), ErrorKind::bad_file, "config.json");
    }
  }
  EXPECT_EQ(accepted, 5);
}

TEST(ModelFolder, SaysWhatIsMissing) {
  const TemporaryFolder folder;
  EXPECT_REGARD_ERROR(ModelFolder::open(folder / "none"), ErrorKind::io, "no such model folder");
  EXPECT_REGARD_ERROR(ModelFolder::open(folder.path()), ErrorKind::bad_file, "no config.json");
  write_file_atomically(folder / "config.json", "{}");
  EXPECT_REGARD_ERROR(ModelFolder::open(folder / "config.json"), ErrorKind::io, "not a model folder");
  EXPECT_REGARD_ERROR(ModelFolder::open(folder.path()).weights(), ErrorKind::bad_file,
                      "no model.safetensors");
  write_file_atomically(folder / "notes.txt", "");
  EXPECT_REGARD_ERROR(Weights::open(folder.path()), ErrorKind::bad_file, "no index of shards found");
  for (const char* name : {"model.h5", "model.pt", "model.msgpack", "model.onnx"}) {
    write_file_atomically(folder / name, "");
    EXPECT_REGARD_ERROR(Weights::open(folder.path()), ErrorKind::bad_file,
                        "(found " + std::string(name) + "). Convert the model to safetensors first");
    std::filesystem::remove(folder / name);
  }
  write_file_atomically(folder / "tiny.gguf", "GGUF");
  EXPECT_REGARD_ERROR(ModelFolder::open(folder.path()).weights(), ErrorKind::bad_file,
                      "GGUF is not supported");
  write_file_atomically(folder / "generation_config.json", "[]");
  EXPECT_REGARD_ERROR(ModelFolder::open(folder.path()), ErrorKind::bad_file, "generation_config.json");
}

TEST(ModelFolder, OpensTheBestCheckpointOfARun) {
  const TemporaryFolder folder;
  const RunFolder run = RunFolder::create(folder / "run", "");
  EXPECT_REGARD_ERROR(ModelFolder::open(run.path()), ErrorKind::bad_file, "no checkpoint yet");
  for (const int step : {1, 2, 3}) {
    CheckpointWriter writer(run, step);
    writer.add_text("config.json", "{\"step\": " + std::to_string(step) + "}");
    const std::vector<NamedTensor> tensors = {{"w", Tensor::of({static_cast<float>(step)})}};
    writer.add_tensors("model.safetensors", tensors);
    writer.commit({step == 2, 3});
  }
  write_file_atomically(run.path() / "tokenizer.json", "{}");
  const ModelFolder model = ModelFolder::open(run.path());
  EXPECT_EQ(require<int>(model.config, "step", model.config_file), 2);
  EXPECT_EQ(model.weights().tensor("w").at({0}), 2.0);
  EXPECT_EQ(model.tokenizer, run.path());
  EXPECT_EQ(model.warning, "");
  std::filesystem::remove(run.checkpoint_folder(2) / "model.safetensors");
  EXPECT_NE(ModelFolder::open(run.path()).warning, "");
  EXPECT_EQ(ModelFolder::open(run.checkpoint_folder(3)).weights().tensor("w").at({0}), 3.0);
}

class Shards : public ::testing::Test {
 protected:
  Shards() {
    write_file_atomically(folder_ / "config.json", "{}");
    write("1.safetensors", {{"a", Tensor::of({1})}, {"b", Tensor::of({2})}});
    write("2.safetensors", {{"c", Tensor::of({3})}});
  }
  void write(const std::string& name, const std::vector<NamedTensor>& tensors) {
    write_safetensors(folder_ / name, tensors);
  }
  Weights open(const std::string& map) {
    write_file_atomically(folder_ / "model.safetensors.index.json", "{\"weight_map\": " + map + "}");
    return Weights::open(folder_.path());
  }
  TemporaryFolder folder_;
};

TEST_F(Shards, AreOneCollection) {
  const Weights weights = open(R"({"c": "2.safetensors", "a": "1.safetensors", "b": "1.safetensors"})");
  EXPECT_EQ(weights.names(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(weights.tensor("c").at({0}), 3.0);
  EXPECT_EQ(weights.bytes(), 12u);
  weights.release("a");
  EXPECT_EQ(weights.tensor("a").at({0}), 1.0);
  EXPECT_REGARD_ERROR(weights.tensor("d"), ErrorKind::bad_file, "\"d\" is missing");
}

TEST_F(Shards, AreRefusedWhereIndexAndFilesDisagree) {
  EXPECT_REGARD_ERROR(open(R"({"a": "1.safetensors", "c": "2.safetensors"})"), ErrorKind::bad_file,
                      "does not name");
  EXPECT_REGARD_ERROR(open(R"({"a": "1.safetensors", "b": "2.safetensors", "c": "2.safetensors"})"),
                      ErrorKind::bad_file, "\"b\" is not in the shard");
  EXPECT_REGARD_ERROR(open(R"({"a": "3.safetensors"})"), ErrorKind::io, "3.safetensors");
  EXPECT_REGARD_ERROR(open(R"({"a": 1})"), ErrorKind::bad_file, "a string");
  EXPECT_REGARD_ERROR(open("[]"), ErrorKind::bad_file, "weight_map is not an object");
  write("2.safetensors", {{"a", Tensor::of({3})}});
  EXPECT_REGARD_ERROR(open(R"({"a": "1.safetensors", "b": "2.safetensors"})"), ErrorKind::bad_file,
                      "is in two shards");
}

TEST_F(Shards, CannotLeaveTheFolder) {
  for (const char* name :
       {"../1.safetensors", "/etc/passwd", "..", "", "x/../1.safetensors", "x\\\\y", "a\\u0000"})
    EXPECT_REGARD_ERROR(open(std::string(R"({"a": ")") + name + "\"}"), ErrorKind::bad_file,
                        "is not a plain file name");
}

}  // namespace
}  // namespace regard::formats
