// A golden case in a folder of tests/data: its tensors by name and its description. The comparisons record
// their errors in the test report.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "base/json.h"
#include "formats/safetensors.h"
#include "regard/tensor.h"
#include "support/namespaces.h"

namespace regard::testing {

class Golden {
 public:
  // Reads NAME.safetensors and NAME.json, or NAME/golden.safetensors and NAME/case.json, in
  // tests/data/FOLDER.
  Golden(const std::string& folder, const std::string& name);

  bool has(const std::string& name) const { return file_->find(name) != nullptr; }
  Tensor tensor(const std::string& name) const { return file_->tensor(name); }
  const Json& about() const { return about_; }
  const std::vector<formats::TensorEntry>& entries() const { return file_->entries(); }

 private:
  std::shared_ptr<const formats::SafetensorsFile> file_;
  Json about_;
};

// Expect finite values with |actual − golden| ≤ tolerance · max(floor, largest |golden|).
void expect_close(const Tensor& actual, const Tensor& golden, double tolerance, double floor,
                  const std::string& what);
inline void expect_output(const Tensor& actual, const Tensor& golden, const std::string& what) {
  expect_close(actual, golden, 1e-5, 1.0, what);
}
inline void expect_gradient(const Tensor& actual, const Tensor& golden, const std::string& what) {
  expect_close(actual, golden, 1e-4, 0.1, what);
}

}  // namespace regard::testing
