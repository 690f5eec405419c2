// The numbers of a dry run: parameters, batches, memory, steps and epochs.
#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "base/peak_memory.h"
#include "task_case.h"
#include "train/run.h"

namespace regard::train {
namespace {

class DryRun : public TaskCase {
 protected:
  DryRun() { write("rows.tsv", "a b\tc d e\nb\tc\na\td e\n"); }
  std::string text(const std::vector<std::string>& overrides) {
    read("translation", "train = [\"rows.tsv\"]\nvalid = [\"rows.tsv\"]\ncolumns = [1, 2]",
         std::string(kTranslator) + R"([training]
accumulate = 2
schedule = "constant"
max_steps = 10
[validation]
samples = 0
)",
         overrides);
    return dry_run(run_, pool_);
  }
  // Return the line that begins with `beginning`.
  static std::string line(const std::string& text, const std::string& beginning) {
    for (const std::string& one : regard::testing::lines_of(text))
      if (one.starts_with(beginning)) return one;
    return "";
  }
};

TEST_F(DryRun, CountsTheParametersOfEachPart) {
  const std::string shown = text({});
  const std::string begin = "parameters: ";
  std::istringstream lines(shown.substr(shown.find(begin)));
  std::string first;
  std::getline(lines, first);
  std::map<std::string, std::int64_t> parts;
  std::int64_t sum = 0;
  for (std::string one; std::getline(lines, one) && one.starts_with("  ");) {
    const std::size_t colon = one.find(": ");
    parts[one.substr(2, colon - 2)] = std::stoll(one.substr(colon + 2));
    sum += std::stoll(one.substr(colon + 2));
  }
  EXPECT_EQ(std::to_string(sum), first.substr(begin.size()));
  constexpr std::int64_t kAttention = 4 * (8 * 8 + 8), kFeedForward = 2 * (8 * 8 + 8), kNorm = 2 * 8;
  EXPECT_EQ(parts["embedding"], 9 * 8) << "5 words and 4 special tokens";
  EXPECT_EQ(parts["encoder.layers"], kAttention + kFeedForward + 2 * kNorm);
  EXPECT_EQ(parts["decoder.layers"], 2 * kAttention + kFeedForward + 3 * kNorm);
  EXPECT_NE(shown.find("vocabulary: 9 tokens\n"), std::string::npos) << shown;
}

TEST_F(DryRun, ShowsTheFirstBatches) {
  const std::string shown = text({});
  // each batch contains all pairs; 6 target words and 3 end tokens
  for (const char* batch :
       {"batch 0: 3 sequences, 9 target tokens\n", "batch 2: 3 sequences, 9 target tokens\n"})
    EXPECT_NE(shown.find(batch), std::string::npos) << shown;
  EXPECT_EQ(shown.find("batch 3"), std::string::npos) << shown;
  EXPECT_TRUE(line(shown, "first step: ").starts_with("first step: 18 target tokens in 6 sequences, loss 2."))
      << shown;
}

TEST_F(DryRun, EstimatesStepsAndEpochs) {
  const auto steps = [&](const std::vector<std::string>& overrides) {
    const std::string found = line(text(overrides), "steps: ");
    return found.substr(0, found.find(';'));
  };
  // a step draws all pairs twice
  EXPECT_EQ(steps({}), "steps: 10 (20.0 epochs)");
  EXPECT_EQ(steps({"training.max_epochs=7"}), "steps: 4 (8.0 epochs)");
  EXPECT_EQ(steps({"training.max_steps=0", "training.max_epochs=7"}), "steps: 4 (8.0 epochs)");
  EXPECT_EQ(steps({"training.max_steps=3", "training.max_epochs=7"}), "steps: 3 (6.0 epochs)");
  const std::string time = text({"training.max_steps=0", "training.max_minutes=1"});
  EXPECT_EQ(line(time, "steps: "), "");
  EXPECT_TRUE(std::regex_match(line(time, "time of a step: "), std::regex(R"(time of a step: \d+\.\d{3} s)")))
      << time;
  EXPECT_TRUE(std::regex_search(text({}), std::regex("estimated time: \\d+ s, without validations\n")));
}

// Adam has two moments for each weight. With several micro-batches, GradientSum has further copies of the
// gradients.
TEST_F(DryRun, CountsTheMemoryOfTheOptimiser) {
  for (const auto& [accumulate, copies] : {std::pair(1, 1), {2, 3}, {4, 4}}) {
    const std::string shown = text({"model.hidden_size=128", "model.feed_forward_size=512",
                                    "training.accumulate=" + std::to_string(accumulate)});
    const double parameters = std::stod(line(shown, "parameters: ").substr(12));
    const double expected = parameters * 4 * (1 + copies + 2) / (1024.0 * 1024.0);
    EXPECT_NEAR(std::stod(line(shown, "memory: ").substr(8)), expected, 0.06) << accumulate;
  }
}

// The longest batch is not among the timed steps, so its memory is estimated from its number of tokens.
TEST_F(DryRun, EstimatesTheMemoryOfTheLongestBatch) {
  std::string rows;
  for (int i = 0; i < 300; ++i) rows += "a b c\td e f\n";
  for (const char side : {'a', 'd'}) {
    for (int i = 0; i < 999; ++i) rows += std::string(1, side) + " ";
    rows += side == 'a' ? "a\t" : "d\n";
  }
  write("rows.tsv", rows);
  write("short.tsv", "a b\tc d\n");
  const std::string shown = text({"data.max_length=2000", "training.batch_tokens=8", "training.accumulate=1",
                                  "data.valid=[\"" + (folder_ / "short.tsv").string() + "\"]"});
  const double peak = static_cast<double>(peak_memory_bytes()) / (1024.0 * 1024.0);
  const double estimate = std::stod(line(shown, "memory at its peak: ").substr(20)) - peak;
  EXPECT_GT(estimate, 10.0) << shown;
  EXPECT_LT(estimate, 60.0) << shown;
}

TEST_F(DryRun, NotesAnExistingRunFolder) {
  EXPECT_EQ(text({}).find("exists already"), std::string::npos);
  std::filesystem::create_directory(folder_ / "run");
  EXPECT_EQ(line(text({}), "note: "),
            "note: the run folder " + (folder_ / "run").string() + " exists already");
}

}  // namespace
}  // namespace regard::train
