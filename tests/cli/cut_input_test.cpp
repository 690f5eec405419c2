// How every command that reads lines handles a truncated compressed input, and a line above the limit of 64
// MiB.
#include <gtest/gtest.h>

#include "support/compress.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

TEST(CutInput, TheResultsOfTheLinesBeforeTheEndAreWritten) {
  if (gzip("a").empty()) GTEST_SKIP() << "the build has no zlib";
  const TemporaryFolder folder;
  write_text_model(folder.path() / "translator", "translator");
  write_text_model(folder.path() / "gpt", "gpt", 200);
  // a last line that gzip can compress only by half
  std::string rest;
  for (std::uint32_t i = 0, state = 1; i < 200000; ++i) {
    state = state * 1664525u + 1013904223u;
    rest += static_cast<char>('a' + (state >> 24) % 16);
  }
  const auto model = [](const std::string& name) { return golden(name).string(); };
  const std::pair<std::vector<std::string>, std::string> verbs[] = {
      {{"translate", "translator", "--max-new", "5"}, "the dog"},
      {{"generate", "gpt", "--max-new", "5"}, "the dog"},
      {{"classify", model("hf-more/bert-nli")}, "Green."},
      {{"embed", model("hf-more/st-mean")}, "Green."},
      {{"fill", model("tasks/roberta-fill")}, "a <mask> b"},
      {{"answer", model("hf-more/bert-qa-stride")}, "What?\tWater on new day."},
      {{"tag", model("hf-more/bert-ner")}, "Bird slowland."},
      {{"tokenizer", "encode", "-T", model("tokenizer-json/bpe-gpt2")}, "Green."}};
  for (const auto& [arguments, good] : verbs) {
    const std::string lines = good + "\n" + good + "\n", packed = gzip(lines + rest);
    const ProgramResult whole = run_program(arguments, folder.path(), lines);
    const ProgramResult cut = run_program(arguments, folder.path(), packed.substr(0, packed.size() / 2));
    EXPECT_EQ(cut.exit_code, 3) << arguments[0];
    EXPECT_NE(cut.err.find("truncated"), std::string::npos) << cut.err;
    EXPECT_EQ(cut.out, whole.out) << arguments[0];
  }
  // --skip-bad skips lines, but not the end of a file.
  std::vector<std::string> skipping = verbs[2].first;
  skipping.push_back("--skip-bad");
  const std::string packed = gzip("Green.\n" + rest);
  const ProgramResult cut = run_program(skipping, folder.path(), packed.substr(0, packed.size() / 2));
  EXPECT_EQ(cut.exit_code, 3);
  EXPECT_NE(cut.err.find("truncated"), std::string::npos) << cut.err;
}

TEST(TooLongLine, IsSkippedWithSkipBad) {
  const TemporaryFolder folder;
  const std::string input = std::string((std::size_t{1} << 26) + (1 << 20), 'x') + "\nGreen.\n";
  const std::vector<std::string> verbs[] = {
      {"classify", golden("hf-more/bert-nli").string()},
      {"tokenizer", "encode", "-T", golden("tokenizer-json/bpe-gpt2").string()}};
  for (const std::vector<std::string>& verb : verbs) {
    SCOPED_TRACE(verb[0]);
    std::vector<std::string> skipping = verb;
    skipping.push_back("--skip-bad");
    const ProgramResult result = run_program(skipping, folder.path(), input);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, "\n" + run_program(verb, folder.path(), "Green.\n").out);
    EXPECT_NE(result.err.find("the line is too long"), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace regard::testing
