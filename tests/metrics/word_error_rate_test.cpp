// Word and character error rates. The expected numbers are from jiwer 4.0 (wer, cer) for the same pairs.
#include "metrics/word_error_rate.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/throws.h"

namespace regard::metrics {
namespace {

TEST(WordErrorRate, CountsTheCheapestEdits) {
  const auto words = [](const char* output, const char* reference) {
    const Errors all = word_errors(std::string(output), std::string(reference));
    return std::pair(all.errors, all.length);
  };
  EXPECT_EQ(words("one two three", "one two three"), std::pair(0l, 3l));
  EXPECT_EQ(words("one three", "one two three"), std::pair(1l, 3l));
  EXPECT_EQ(words("one two two three", "one two three"), std::pair(1l, 3l));
  EXPECT_EQ(words("three two one", "one two three"), std::pair(2l, 3l));
  EXPECT_EQ(words("", "one two"), std::pair(2l, 2l));
  EXPECT_EQ(words("  one\t two ", "one two"), std::pair(0l, 2l));
}

TEST(WordErrorRate, RatesOfSeveralTexts) {
  const std::vector<std::string> outputs{"the cat sat", "a dok", "zero"},
      references{"the cat sat down", "a dog", "zero"};
  EXPECT_DOUBLE_EQ(word_errors(outputs, references).rate(), 2.0 / 7.0);
  EXPECT_DOUBLE_EQ(character_errors(outputs, references).rate(), 6.0 / 25.0);
  EXPECT_DOUBLE_EQ(character_errors(std::string("über"), std::string("uber")).rate(), 0.25);
  EXPECT_DOUBLE_EQ(Errors{}.rate(), 0.0);
  EXPECT_DOUBLE_EQ(word_errors(std::string("a"), std::string()).rate(), 1.0);
}

TEST(WordErrorRate, NeedsOneOutputForEachReference) {
  const std::vector<std::string> outputs{"a"}, references{"a", "b"};
  EXPECT_REGARD_ERROR(word_errors(outputs, references), ErrorKind::usage, "expected 2 outputs");
  EXPECT_REGARD_ERROR(character_errors(references, outputs), ErrorKind::usage, "expected 1 outputs");
}

}  // namespace
}  // namespace regard::metrics
