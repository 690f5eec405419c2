#include "support/hf_folder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/shared_data.h"

namespace regard::testing {
namespace {

bool is_input(const std::string& name) {
  for (const char* input : {"input_ids", "attention_mask", "token_type_ids", "position_ids",
                            "decoder_input_ids", "decoder_attention_mask", "labels", "start_positions",
                            "end_positions", "pixel_values", "input_features", "input_values"})
    if (name == input) return true;
  return name.starts_with("loss_weight.");
}

double error(const Tensor& actual, const Tensor& golden, double tolerance, double floor) {
  if (!(actual.shape() == golden.shape())) return std::numeric_limits<double>::infinity();
  double largest = floor, worst = 0.0;
  for (std::int64_t i = 0; i < golden.elements(); ++i) {
    const double expected = static_cast<double>(golden.f32()[i]),
                 found = static_cast<double>(actual.f32()[i]);
    largest = std::max(largest, std::abs(expected));
    const double difference = std::abs(found - expected);
    worst = std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(worst, difference);
  }
  return worst / (tolerance * largest);
}

}  // namespace

HfFolder::HfFolder(const std::string& name)
    : path(testing::golden("hf-tiny/" + name)), golden("hf-tiny", name) {
  for (const formats::TensorEntry& entry : golden.entries())
    if (is_input(entry.name)) inputs[entry.name] = golden.tensor(entry.name);
  if (const auto found = inputs.find("attention_mask"); found != inputs.end()) mask = found->second;
}

std::vector<std::string> hf_folder_names() {
  std::vector<std::string> names;
  for (const auto& item : std::filesystem::directory_iterator(golden("hf-tiny")))
    if (item.is_directory()) names.push_back(item.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

double output_error(const Tensor& actual, const Tensor& golden) {
  return error(actual, golden, 2e-5, 1.0);
}

double gradient_error(const Tensor& actual, const Tensor& golden, double floor) {
  return error(actual, golden, 2e-4, floor);
}

double largest(const Tensor& tensor) {
  double largest = 0.0;
  for (std::int64_t i = 0; i < tensor.elements(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(tensor.f32()[i])));
  return largest;
}

}  // namespace regard::testing
