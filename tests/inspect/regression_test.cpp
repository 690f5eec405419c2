// Regression losses and their gradients, compared with transformers' BertForSequenceClassification.
#include <gtest/gtest.h>

#include "base/json.h"
#include "formats/safetensors.h"
#include "inspect/run_tensors.h"
#include "models/weights.h"
#include "support/golden.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;

// Write hf-more/bert-multilabel as a regression model. If `one` is true, it has only the first label, and no
// problem_type.
fs::path changed_folder(const fs::path& root, bool one) {
  const fs::path from = testing::golden("hf-more/bert-multilabel");
  Json config = read_json((from / "config.json").string());
  if (one) {
    config.erase("problem_type");
    config["id2label"] = {{"0", "grade"}};
    config.erase("label2id");
  } else {
    config["problem_type"] = "regression";
  }
  testing::write_file(root, "config.json", config.dump());
  const auto file = formats::SafetensorsFile::open(from / "model.safetensors");
  std::vector<formats::NamedTensor> tensors;
  for (const formats::TensorEntry& entry : file->entries()) {
    const Tensor tensor = file->tensor(entry.name);
    const bool head = one && entry.name.starts_with("classifier.");
    tensors.push_back({entry.name, !head                        ? tensor
                                   : tensor.shape().rank() == 1 ? Tensor::of({tensor.f32()[0]})
                                                                : tensor.slice_rows(0, 1)});
  }
  formats::write_safetensors(root / "model.safetensors", tensors, {});
  return root;
}

Tensor flat(const Json& numbers, const Shape& shape) {
  Tensor tensor = Tensor::empty(shape);
  std::int64_t i = 0;
  for (const Json& row : numbers)
    if (row.is_array())
      for (const Json& number : row) tensor.f32()[i++] = number.get<float>();
    else
      tensor.f32()[i++] = row.get<float>();
  return tensor;
}

TEST(Regression, LossAndGradientsAreThoseOfTransformers) {
  const Json cases = read_json(testing::golden("tasks/regression.json").string())["cases"];
  const testing::Golden golden("hf-more", "bert-multilabel");
  ThreadPool pool(1);
  for (const Json& one : cases) {
    const bool single = !one["labels"][0].is_array();
    const testing::TemporaryFolder folder;
    const auto model = load_model(formats::ModelFolder::open(changed_folder(folder.path(), single)));
    inspect::TensorMap inputs;
    for (const char* name : {"input_ids", "attention_mask", "token_type_ids"})
      inputs[name] = golden.tensor(name);
    const std::int64_t batch = inputs["input_ids"].shape()[0];
    inputs["labels"] = flat(one["labels"], single ? Shape{batch} : Shape{batch, 5});
    const inspect::TensorMap results = inspect::run_tensors(*model, pool, inputs, {});
    EXPECT_NEAR(static_cast<double>(results.at("loss").f32()[0]), one["loss"].get<double>(), 2e-4);
    for (const std::string name : {"grad.classifier.bias", "grad.classifier.weight"}) {
      const Tensor& gradient = results.at(name);
      testing::expect_close(gradient, flat(one[name], gradient.shape()), 2e-4, 1e-3, name);
    }
    inputs["labels"] = Tensor::zeros({batch, 7});
    EXPECT_THROW(inspect::run_tensors(*model, pool, inputs, {}), Error);
  }
}

// Integers are not regression targets: with one label, their cross-entropy would be 0.
TEST(Regression, LabelsHaveTheDtypeOfTheProblem) {
  const testing::Golden golden("hf-more", "bert-multilabel");
  ThreadPool pool(1);
  for (const bool single : {true, false}) {
    const testing::TemporaryFolder folder;
    const auto model = load_model(formats::ModelFolder::open(changed_folder(folder.path(), single)));
    inspect::TensorMap inputs;
    for (const char* name : {"input_ids", "attention_mask", "token_type_ids"})
      inputs[name] = golden.tensor(name);
    Tensor classes = Tensor::empty({inputs["input_ids"].shape()[0]}, DType::i64);
    std::fill_n(classes.i64(), classes.elements(), 0);
    inputs["labels"] = classes;
    EXPECT_REGARD_ERROR(inspect::run_tensors(*model, pool, inputs, {}), ErrorKind::invalid_input,
                        "expected f32 for the problem type regression");
  }
}

}  // namespace
}  // namespace regard::testing
