// A tiny Hugging Face model folder of tests/data with its golden outputs.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "formats/model_folder.h"
#include "inspect/run_tensors.h"
#include "support/golden.h"
#include "support/namespaces.h"

namespace regard::testing {

struct HfFolder {
  explicit HfFolder(const std::string& name);

  std::filesystem::path path;
  Golden golden;
  inspect::TensorMap inputs;  // the model's inputs in the golden file
  Tensor mask;                // mask of input_ids [batch, length]; undefined if there is none
};

// Return the names of all folders of tests/data/hf-tiny.
std::vector<std::string> hf_folder_names();

// Return the largest difference, divided by the tolerance of tests/data/hf-tiny/README.md. Values up to 1 are
// within the tolerance.
double output_error(const Tensor& actual, const Tensor& golden);
double gradient_error(const Tensor& actual, const Tensor& golden, double floor = 1e-3);
double largest(const Tensor& tensor);  // Return the largest absolute value.

}  // namespace regard::testing
