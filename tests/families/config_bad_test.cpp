// Hostile configurations with valid tensors: each is rejected with the expected reason, or gives the output
// in the manifest.
#include <gtest/gtest.h>

#include "base/file.h"
#include "inspect/run_tensors.h"
#include "models/families/families.h"
#include "models/weights.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

using testing::golden;

// Creates a model folder with the given config and tensor file.
class Folder {
 public:
  Folder(const std::string& config, const std::string& tensors) {
    write_file_atomically(folder_.path() / "config.json", read_file(golden("config-bad/" + config)));
    std::filesystem::create_symlink(golden("config-bad/" + tensors), folder_.path() / "model.safetensors");
  }
  std::unique_ptr<Network> open() const { return load_model(formats::ModelFolder::open(folder_.path())); }

 private:
  testing::TemporaryFolder folder_;
};

// Return the largest absolute difference between the model's output and the values in `good`, an entry of the
// manifest.
double difference(Network& model, const Json& good) {
  ThreadPool pool(1);
  const auto tensor = [](const Json& ids) {
    Tensor ids_tensor = Tensor::zeros({1, static_cast<std::int64_t>(ids.size())}, DType::i64);
    for (std::size_t i = 0; i < ids.size(); ++i) ids_tensor.i64()[i] = ids[i].get<std::int64_t>();
    return ids_tensor;
  };
  inspect::TensorMap inputs{{"input_ids", tensor(good["input_ids"])}};
  if (good.contains("decoder_input_ids")) inputs["decoder_input_ids"] = tensor(good["decoder_input_ids"]);
  const auto name = good["output"].get<std::string>();
  const Tensor output = inspect::run_tensors(model, pool, inputs).at(name);
  double largest = 0.0;
  for (std::int64_t i = 0; i < output.elements(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(output.f32()[i]) -
                                         good["values_f32"][static_cast<std::size_t>(i)].get<double>()));
  return largest;
}

bool supported(const std::string& config) {
  const Json json = read_json(golden("config-bad/" + config).string());
  const std::vector<std::string> names = families::names();
  return std::find(names.begin(), names.end(), json["model_type"].get<std::string>()) != names.end();
}

class ConfigBad : public ::testing::Test {
 protected:
  const Json manifest_ = read_json(golden("config-bad/manifest-models.json").string());
};

TEST_F(ConfigBad, GoodOnesGiveTheStatedOutput) {
  for (const Json& good : manifest_["good"]) {
    const auto file = good["file"].get<std::string>();
    if (!supported(file)) continue;
    const Folder folder(file, good["tensors"].get<std::string>());
    EXPECT_LT(difference(*folder.open(), good), 1e-5) << file;
  }
}

TEST_F(ConfigBad, EachIsRefusedWithItsReasonOrAccepted) {
  std::size_t refused = 0, accepted = 0;
  for (const Json& one : manifest_["cases"]) {
    const auto file = one["file"].get<std::string>(), tensors = one["tensors"].get<std::string>();
    const auto expect = one["expect"].get<std::string>();
    const Folder folder(file, tensors);
    try {
      const auto model = folder.open();
      ++accepted;
      EXPECT_EQ(expect, "accept") << file << ": " << one["reason"];
      for (const Json& good : manifest_["good"]) {
        if (good["tensors"] != tensors) continue;
        EXPECT_LT(difference(*model, good), 1e-5) << file;
      }
    } catch (const Error& error) {
      ++refused;
      EXPECT_NE(expect, "accept") << file << ": " << error.what();
      EXPECT_EQ(error.kind(), ErrorKind::bad_file) << file << ": " << error.what();
      EXPECT_LT(std::string(error.what()).size(), 2000u) << file;
      RecordProperty(file, error.what());
    }
  }
  EXPECT_EQ(accepted, 6u);
  EXPECT_EQ(refused, manifest_["cases"].size() - 6);
}

}  // namespace
}  // namespace regard::testing
