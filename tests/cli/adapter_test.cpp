// --adapter in the commands that compute with a model: the result equals the result of a folder that contains
// the adapter. It differs from the result of the model without the adapter.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json.h"
#include "regard/model.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "text/train_bpe.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;

class AdapterOption : public ::testing::Test {
 protected:
  AdapterOption() {
    const fs::path adapted = testing::golden("lora/gpt2");
    text::CharacterTrainingOptions options;
    options.byte_fallback = false;
    const auto tokenizer = text::train_characters(
        [done = false](std::string& line) mutable {
          line = "the river bank and the money bank";
          return !std::exchange(done, true);
        },
        options);
    for (const char* name : {"model_a", "model_b"}) {
      fs::create_directory(folder_ / name);
      for (const char* file : {"config.json", "model.safetensors"})
        fs::copy_file(adapted / file, folder_ / name / file);
      tokenizer->save(folder_ / name / "tokenizer.json");
    }
    fs::copy(adapted / "adapter", folder_ / "adapter");
    fs::copy(adapted / "adapter", folder_ / "model_b");
    write_file(folder_.path(), "lines.txt", "the river bank\nthe money bank\n");
  }
  // Run a command on a model. The name of the model is removed from the output.
  std::string run(const std::string& model, std::vector<std::string> command,
                  const std::vector<std::string>& more = {}) const {
    command.insert(command.begin() + 1, model);
    command.insert(command.end(), more.begin(), more.end());
    const ProgramResult result = run_program(command, folder_.path());
    EXPECT_EQ(result.exit_code, 0) << command[0] << ": " << result.err;
    std::string out = result.out;
    for (std::size_t at = 0; (at = out.find(model)) != out.npos;) out.erase(at, model.size());
    return out;
  }
  TemporaryFolder folder_;
};

TEST_F(AdapterOption, IsAppliedByEveryCommand) {
  const std::vector<std::vector<std::string>> commands{
      {"embed", "lines.txt"},
      {"generate", "lines.txt", "--max-new", "3", "--log-probabilities", "--json"},
      {"attend", "the river bank", "--json", "--full"},
      {"context", "bank", "the river bank", "the money bank", "--json"},
      {"study", "--view", "lens", "--text", "the river bank", "--json"},
      {"study", "--view", "tokens", "--text", "the river bank", "--answer", "b", "--json"},
      {"evaluate", "lines.txt", "--json"}};
  for (const auto& command : commands) {
    const std::string tuned = run("model_b", command),
                      applied = run("model_a", command, {"--adapter", "adapter"});
    EXPECT_EQ(applied, tuned) << command[0];
    EXPECT_NE(applied, run("model_a", command)) << command[0];
  }
}

TEST_F(AdapterOption, IsAppliedByTheLibrary) {
  const auto best = [](const Model& model) { return model.write("the river bank", {.max_new = 3}).at(0); };
  const Written applied = best(load(folder_ / "model_a", {}, {.adapter = folder_ / "adapter"}));
  EXPECT_EQ(applied.log_probabilities, best(load(folder_ / "model_b")).log_probabilities);
  EXPECT_NE(applied.log_probabilities, best(load(folder_ / "model_a")).log_probabilities);
}

TEST_F(AdapterOption, IsRefusedWhereItCannotBeApplied) {
  const ProgramResult compared = run_program(
      {"evaluate", "lines.txt", "--compare", "model_a", "model_b", "--adapter", "adapter"}, folder_.path());
  EXPECT_EQ(compared.exit_code, 2);
  EXPECT_NE(compared.err.find("--adapter"), std::string::npos) << compared.err;
  const ProgramResult missing =
      run_program({"embed", "model_a", "lines.txt", "--adapter", "nowhere"}, folder_.path());
  EXPECT_NE(missing.exit_code, 0);
  EXPECT_NE(missing.err.find("nowhere"), std::string::npos) << missing.err;
}

}  // namespace
}  // namespace regard::testing
