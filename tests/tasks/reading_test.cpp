// Limits of texts that a task reads, and passes of several texts.
#include <gtest/gtest.h>

#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/throws.h"
#include "tasks/pass.h"
#include "tasks/reader.h"

namespace regard::testing {
namespace {

using tasks::Input;
using tasks::Reader;

TEST(Passes, HaveAtMostAFixedNumberOfTokens) {
  using Parts = std::vector<std::pair<std::size_t, std::size_t>>;
  const auto parts = [](const std::vector<std::int64_t>& lengths) {
    std::vector<Input> inputs;
    for (const std::int64_t length : lengths)
      inputs.emplace_back(ModelInput(std::vector<std::int32_t>(static_cast<std::size_t>(length), 5)));
    Parts all;
    tasks::in_passes(inputs, [&](std::size_t first, std::size_t count) { all.emplace_back(first, count); });
    return all;
  };
  constexpr std::int64_t kMost = tasks::kPassTokens;
  EXPECT_EQ(parts({}), Parts{});
  EXPECT_EQ(parts({1, 2, 3}), (Parts{{0, 3}}));
  EXPECT_EQ(parts({kMost - 2, 2, 1}), (Parts{{0, 2}, {2, 1}}));
  EXPECT_EQ(parts({kMost - 2, 3, kMost - 3, 1}), (Parts{{0, 1}, {1, 2}, {3, 1}}));
  EXPECT_EQ(parts({kMost + 5, kMost + 1, 1, 1}), (Parts{{0, 1}, {1, 1}, {2, 2}})) << "a longer text is alone";
}

class Reading : public ::testing::Test {
 protected:
  infer::LoadedModel model_ = infer::LoadedModel::open(golden("hf-more/bert-nli"));
  std::int64_t positions_ = model_.model->max_positions();
};

TEST_F(Reading, LimitsAreThoseOfTheModelOrBelow) {
  EXPECT_EQ(Reader(model_, {}).most_tokens(), positions_);
  EXPECT_EQ(Reader(model_, {.most_tokens = positions_}).most_tokens(), positions_);
  EXPECT_EQ(Reader(model_, {.most_tokens = 3}).most_tokens(), 3);
  EXPECT_REGARD_ERROR(
      Reader(model_, {.most_tokens = positions_ + 1}), ErrorKind::usage,
      "the maximum length exceeds the model's maximum number of positions (expected at most " +
          std::to_string(positions_) + " tokens, found " + std::to_string(positions_ + 1));
  for (const auto& [most, found] : {std::pair<std::int64_t, const char*>{2, "2 tokens"}, {-1, "-1 tokens"}})
    EXPECT_REGARD_ERROR(Reader(model_, {.most_tokens = most}), ErrorKind::usage,
                        "the maximum length is too small for the special tokens and text (expected more than "
                        "the 2 special tokens of every text, found " +
                            std::string(found) + ")");
}

TEST_F(Reading, LongTextsAreRefusedOrCut) {
  std::string text = "river";
  const auto tokens = [&](const std::string& one) { return std::ssize(model_.source->encode_ids(one)); };
  while (tokens(text) < 9) text += " river";
  const std::int64_t length = tokens(text);
  const Reader exact(model_, {.most_tokens = length}), less(model_, {.most_tokens = length - 1}),
      cuts(model_, {.most_tokens = length - 1, .cut = true});
  EXPECT_EQ(exact.read(text).tokens(), length);
  EXPECT_FALSE(exact.read(text).cut);
  EXPECT_REGARD_ERROR(less.read(text), ErrorKind::invalid_input,
                      "(expected at most " + std::to_string(length - 1) + ", found " +
                          std::to_string(length) + " tokens). Split the text");
  const Input cut = cuts.read(text);
  EXPECT_TRUE(cut.cut);
  EXPECT_EQ(cut.tokens(), length - 1);
  EXPECT_EQ(cut.ids.back(), model_.source->after().back()) << "the end token stays";
  EXPECT_TRUE(cuts.cuts());
  EXPECT_FALSE(less.cuts());
}

TEST_F(Reading, LongPairsAreRefusedOrCut) {
  const Reader whole(model_, {});
  const std::int64_t length = whole.read("river", "river river").tokens();
  EXPECT_FALSE(whole.read("river", "river river").cut);
  const Reader exact(model_, {.most_tokens = length, .cut = true}),
      cuts(model_, {.most_tokens = length - 1, .cut = true}), less(model_, {.most_tokens = length - 1});
  EXPECT_FALSE(exact.read("river", "river river").cut);
  EXPECT_TRUE(cuts.read("river", "river river").cut);
  EXPECT_EQ(cuts.read("river", "river river").tokens(), length - 1);
  EXPECT_REGARD_ERROR(less.read("river", "river river"), ErrorKind::invalid_input,
                      "found " + std::to_string(length) + " tokens");
}

}  // namespace
}  // namespace regard::testing
