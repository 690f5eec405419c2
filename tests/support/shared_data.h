// Where tests find their data: goldens in tests/data, corpora beside the checkout.
#pragma once

#include <filesystem>
#include <string>

namespace regard::testing {

std::filesystem::path source_folder();  // the checkout
std::filesystem::path build_folder();   // where this was built

// tests/data/NAME in the source tree.
std::filesystem::path golden(const std::string& name);

// The folder that REGARD_SHARED names (default ../shared beside the checkout). A test labelled `data` asks
// for it first; where it is missing the test is reported as not run, and in CI (CI=true) as failed.
std::filesystem::path shared_folder();
bool shared_available();

}  // namespace regard::testing

// First line of a `data` test.
#define REGARD_NEEDS_SHARED()                                                             \
  if (!regard::testing::shared_available()) {                                             \
    if (const char* ci = std::getenv("CI"); ci != nullptr && std::string(ci) == "true")   \
      FAIL() << "corpora not found in " << regard::testing::shared_folder();              \
    GTEST_SKIP() << "not run: corpora not found in " << regard::testing::shared_folder(); \
  }                                                                                       \
  static_assert(true)
