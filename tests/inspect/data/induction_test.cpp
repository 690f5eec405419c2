// Trained on repeated sequences, a model of two layers forms an induction head after a previous-token head,
// and a model of one layer does not (Olsson et al. 2022). The test trains the models of the recipes with
// fewer steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/json.h"
#include "base/random.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

// Return training text like the output of recipes/make_repeats.py: each line consists of random sections of a
// random cycle of letters.
std::string repeats(std::int64_t letters) {
  RandomStream stream({1, 0, place_of("repeats")});
  const auto between = [&](std::uint64_t least, std::uint64_t most) {
    return least + stream.next_below(most - least + 1);
  };
  std::string text;
  for (std::int64_t written = 0; written < letters;) {
    std::string ring(kLetters);
    for (std::size_t i = ring.size(); i > 1; --i) std::swap(ring[i - 1], ring[stream.next_below(i)]);
    ring.resize(between(4, 20));
    std::int64_t block = 0;
    while (block < 100) {
      const std::uint64_t start = stream.next_below(ring.size()), length = between(3, 10);
      for (std::uint64_t i = 0; i < length; ++i, ++block)
        text += std::string(block == 0 ? "" : " ") + ring[(start + i) % ring.size()];
    }
    text += '\n';
    written += block;
  }
  return text;
}

// Return the largest score in this column of the study over the heads of a layer.
double largest(const Json& study, const std::string& layer, const char* column) {
  double largest = 0;
  for (const Json& row : study["rows"])
    if (row["head"].get<std::string>().starts_with("decoder." + layer))
      largest = std::max(largest, row[column].get<double>());
  return largest;
}

class Induction : public ::testing::Test {
 protected:
  Induction() { std::ofstream(folder_ / "repeats.txt") << repeats(700'000); }

  Json study_of_recipe(const std::string& name) {
    const std::string recipe = (testing::source_folder() / "recipes" / (name + ".toml")).string();
    const auto trained = testing::run_program(
        {"train", recipe, "-q", "--set", "data.train=[\"" + (folder_ / "repeats.txt").string() + "\"]",
         "--set", "output.folder=" + (folder_ / name).string(), "--set", "training.max_steps=500", "--set",
         "validation.every_steps=500"},
        folder_.path());
    EXPECT_EQ(trained.exit_code, 0) << trained.err;
    std::string letters;
    for (const char letter : kLetters) letters += std::string(1, letter) + " ";
    const auto study = testing::run_program(
        {"study", name, "--view", "induction", "--text", letters, "--json"}, folder_.path());
    EXPECT_EQ(study.exit_code, 0) << study.err;
    return parse_json(study.out, "study");
  }

  testing::TemporaryFolder folder_;
};

TEST_F(Induction, NeedsTwoLayers) {
  const Json two = study_of_recipe("induction-2"), one = study_of_recipe("induction-1");
  ASSERT_EQ(two["columns"], Json({"head", "induction", "duplicate", "previous"}));
  EXPECT_GE(largest(two, "1", "induction"), 0.5) << two.dump();
  EXPECT_GE(largest(two, "0", "previous"), 0.5) << two.dump();
  EXPECT_LE(largest(two, "0", "induction"), 0.1) << two.dump();
  ASSERT_EQ(one["rows"].size(), 2u);
  EXPECT_LE(largest(one, "0", "induction"), 0.1) << one.dump();
}

}  // namespace
}  // namespace regard::testing
