// Paths of test data: golden files in tests/data, corpora beside the checkout.
#pragma once

#include <filesystem>
#include <string>

#include "support/namespaces.h"

namespace regard::testing {

std::filesystem::path source_folder();  // root of the source tree
std::filesystem::path build_folder();   // the build directory of the tests

const char* built_program();  // path of the program in the build directory

// Path of tests/data/NAME in the source tree.
std::filesystem::path golden(const std::string& name);

// The folder of large corpora: REGARD_SHARED. Default: ../shared beside the checkout. If it is missing, tests
// labelled `data` are skipped, or fail in CI (CI=true).
std::filesystem::path shared_folder();
bool shared_available();

}  // namespace regard::testing

// Must be the first line of a `data` test.
#define REGARD_NEEDS_SHARED()                                                             \
  if (!regard::testing::shared_available()) {                                             \
    if (const char* ci = std::getenv("CI"); ci != nullptr && std::string(ci) == "true")   \
      FAIL() << "corpora not found in " << regard::testing::shared_folder();              \
    GTEST_SKIP() << "not run: corpora not found in " << regard::testing::shared_folder(); \
  }                                                                                       \
  static_assert(true)
