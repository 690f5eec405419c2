// `--precision bf16`: refused with a reason on a processor without fast bf16 instructions, otherwise accepted
// by the commands that compute with a model.
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/bf16.h"
#include "support/environment.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

class PrecisionOption : public ::testing::Test {
 protected:
  PrecisionOption() {
    write_text_model(folder_.path() / "translator", "translator");
    write_text_model(folder_.path() / "gpt", "gpt", 200);
  }
  static std::vector<std::vector<std::string>> verbs() {
    return {{"translate", "translator", "--max-new", "5"},
            {"generate", "gpt", "--max-new", "5"},
            {"classify", golden("hf-more/bert-nli").string()},
            {"embed", golden("hf-more/st-mean").string()}};
  }
  ProgramResult run(std::vector<std::string> verb, const std::vector<std::string>& more) const {
    verb.insert(verb.end(), more.begin(), more.end());
    return run_program(verb, folder_.path(), "the dog\n");
  }
  TemporaryFolder folder_;
};

TEST_F(PrecisionOption, IsRefusedWithoutInstructions) {
  for (const auto& verb : verbs()) {
    setenv("REGARD_ISA", "avx2", 1);
    const ProgramResult result = run(verb, {"--precision", "bf16"});
    unsetenv("REGARD_ISA");
    EXPECT_EQ(result.exit_code, 2) << verb[0];
    EXPECT_NE(result.err.find("--precision bf16 needs a processor with bf16 instructions"), std::string::npos)
        << result.err;
    EXPECT_NE(result.err.find("Use the precision f32"), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "") << verb[0];
  }
}

// VDPBF16PS is slower than f32 on processors other than AMD's.
TEST_F(PrecisionOption, IsRefusedWhereItIsSlowerThanF32) {
  if (kernels::bf16_paths().empty() || kernels::default_bf16_path())
    GTEST_SKIP() << "no bf16 instructions, or fast ones";
  for (const auto& verb : verbs()) {
    const ProgramResult result = run(verb, {"--precision", "bf16"});
    EXPECT_EQ(result.exit_code, 2) << verb[0];
    EXPECT_NE(result.err.find("--precision bf16 is slower than f32 on this processor"), std::string::npos)
        << result.err;
    EXPECT_NE(result.err.find("Use the precision f32"), std::string::npos) << result.err;
  }
}

TEST_F(PrecisionOption, F32IsTheDefault) {
  for (const auto& verb : verbs()) {
    const ProgramResult plain = run(verb, {}), named = run(verb, {"--precision", "f32"});
    EXPECT_EQ(named.exit_code, 0) << named.err;
    EXPECT_EQ(named.out, plain.out) << verb[0];
    EXPECT_NE(run(verb, {"--precision", "f32", "--quantize", "int8"}).exit_code, 0) << verb[0];
  }
}

TEST_F(PrecisionOption, Bf16Computes) {
  if (kernels::bf16_paths().empty()) GTEST_SKIP() << "no bf16 instructions";
  const SlowBf16 also_if_slow;
  for (const auto& verb : verbs()) {
    const ProgramResult one = run(verb, {"--precision", "bf16", "-t", "1"});
    EXPECT_EQ(one.exit_code, 0) << one.err;
    EXPECT_NE(one.out, "") << verb[0];
    EXPECT_EQ(one.out, run(verb, {"--precision", "bf16", "-t", "3"}).out) << verb[0];
  }
}

}  // namespace
}  // namespace regard::testing
