// Encoding many texts at once with any number of threads gives the same ids as encoding each alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "support/shared_data.h"
#include "support/thread_time.h"
#include "text/tokenizer.h"

namespace regard::text {
namespace {

class EncodeRows : public ::testing::TestWithParam<std::string> {};

TEST_P(EncodeRows, EqualTheIdsOfEachText) {
  const auto tokenizer = Tokenizer::load(testing::golden(GetParam()));
  const std::vector<std::string> parts = {
      "the ", "Mann ", "caf\u00E9 ",    " \u6F22\u5B57",         "don't ", "42", "<s>",
      "\n",   "\xFF",  "\u0915\u0947 ", "internationalisation ", "",       "!? "};
  std::uint32_t state = 3;
  const auto next = [&](std::size_t count) { return ((state = state * 1664525 + 1013904223) >> 8) % count; };
  std::vector<std::string> texts(testing::kSlowBuild ? 600 : 3000);
  for (std::string& text : texts)
    for (std::size_t i = next(20); i-- > 0;) text += parts[next(parts.size())];
  texts[300] = std::string(100'000, 'x');
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  for (const bool special : {true, false}) {
    std::vector<std::vector<std::int32_t>> expected;
    for (const std::string& text : texts)
      expected.push_back(tokenizer->encode_ids(text, {.add_special = special}));
    for (const int threads : {0, 1, 2, 5}) {
      ThreadPool pool(std::max(1, threads));
      const IdRows rows =
          tokenizer->encode_rows(views, {.add_special = special}, threads > 0 ? &pool : nullptr);
      ASSERT_EQ(rows.offsets.size(), texts.size() + 1);
      EXPECT_EQ(rows.offsets.front(), 0u);
      EXPECT_EQ(rows.offsets.back(), rows.ids().size());
      for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto row = rows.ids().subspan(rows.offsets[i], rows.offsets[i + 1] - rows.offsets[i]);
        ASSERT_TRUE(std::equal(row.begin(), row.end(), expected[i].begin(), expected[i].end()))
            << "text " << i << ", " << threads << " threads";
      }
    }
  }
}

TEST_P(EncodeRows, OfNothing) {
  const auto tokenizer = Tokenizer::load(testing::golden(GetParam()));
  ThreadPool pool(2);
  const IdRows rows = tokenizer->encode_rows({}, {}, &pool);
  EXPECT_EQ(rows.offsets, std::vector<std::size_t>{0});
  EXPECT_TRUE(rows.ids().empty());
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, EncodeRows,
                         ::testing::Values("tokenizer-json/bpe-roberta", "tokenizer-json/wordpiece-uncased",
                                           "tokenizer-json/unigram-t5-style",
                                           "sentencepiece/sp-unigram-nmtnfkc-bytefallback/sp.model"));

}  // namespace
}  // namespace regard::text
