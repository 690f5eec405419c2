// The shared library exports the public API and nothing else, and a program that is linked with it computes
// and catches its errors.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

struct Done {
  int status = -1;
  std::string output;
};

Done bash(const std::string& command) {
  Done done;
  FILE* pipe = popen(("(" + command + ") 2>&1").c_str(), "r");
  if (pipe == nullptr) return done;
  std::array<char, 4096> block{};
  while (const std::size_t read = std::fread(block.data(), 1, block.size(), pipe))
    done.output.append(block.data(), read);
  done.status = pclose(pipe);
  return done;
}

class SharedLibrary : public ::testing::Test {
 protected:
  void SetUp() override {
    const Done built = bash("cmake --build '" + build_folder().string() + "' --target regard_shared");
    if (built.output.find("unknown target") != std::string::npos)
      GTEST_SKIP() << "all of the library is shared";
    ASSERT_EQ(built.status, 0) << built.output;
  }
  std::string library_ = (build_folder() / "libregard.so").string();
};

TEST_F(SharedLibrary, ExportsThePublicApiAlone) {
  const Done symbols = bash("nm -DC --defined-only '" + library_ + "' | cut -d' ' -f3-");
  ASSERT_EQ(symbols.status, 0) << symbols.output;
  std::istringstream lines(symbols.output);
  int exported = 0;
  std::string others;
  for (std::string line; std::getline(lines, line); ++exported) {
    std::string name = line;
    for (const std::string prefix : {"vtable for ", "typeinfo for ", "typeinfo name for "})
      if (name.starts_with(prefix)) name.erase(0, prefix.size());
    // Types begin with a capital letter, namespaces with a small one.
    const std::string scope = name.substr(0, name.find('('));
    const std::size_t second = scope.find("::", 8);
    const bool nested = second != scope.npos && scope.size() > 8 && std::islower(scope[8]) != 0;
    const bool hidden = scope.find("::State") != scope.npos || scope.find("(anonymous") != scope.npos;
    if (!scope.starts_with("regard::") || nested || hidden) others += line + "\n";
  }
  EXPECT_EQ(others, "");
  EXPECT_GT(exported, 100);
  for (const std::string name : {"regard::load(", "regard::Model::translate(", "regard::Tokenizer::encode(",
                                 "regard::Runner::run(", "regard::Error::at(", "typeinfo for regard::Error"})
    EXPECT_NE(symbols.output.find(name), std::string::npos) << name;
}

TEST_F(SharedLibrary, ServesAProgramOutside) {
  const TemporaryFolder folder;
  const std::string source = source_folder().string(), program = (folder / "program").string();
  const Done built =
      bash("c++ -std=c++20 -I'" + source + "/include' '" + source + "/examples/10_named_tensors.cpp' '" +
           library_ + "' -Wl,-rpath,'" + build_folder().string() + "' -o '" + program + "'");
  ASSERT_EQ(built.status, 0) << built.output;
  const Done ran = bash("cd '" + source + "' && '" + program + "'");
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_NE(ran.output.find("last_hidden_state    [2, 5, 32]"), std::string::npos) << ran.output;
  const Done missing = bash("'" + program + "' nowhere");
  EXPECT_NE(missing.output.find("io: nowhere: no such model folder"), std::string::npos) << missing.output;
}

}  // namespace
}  // namespace regard::testing
