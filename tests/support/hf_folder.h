// A tiny Hugging Face folder of tests/data with its golden outputs.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "formats/model_folder.h"
#include "inspect/run_tensors.h"
#include "support/golden.h"

namespace regard::testing {

struct HfFolder {
  explicit HfFolder(const std::string& name);

  std::filesystem::path path;
  Golden golden;
  inspect::TensorMap inputs;  // what the golden file gives to the model
  Tensor mask;                // [batch, length] of input_ids; undefined where there is none
};

// Every folder of tests/data/hf-tiny, whatever is in it.
std::vector<std::string> hf_folder_names();

// The largest difference, relative to the README's scale: at most 1 where the tolerance holds.
double output_error(const Tensor& actual, const Tensor& golden);
double gradient_error(const Tensor& actual, const Tensor& golden, double floor = 1e-3);
double largest(const Tensor& tensor);  // magnitude

}  // namespace regard::testing
