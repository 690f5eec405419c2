// BLEU, chrF and TER compared with sacreBLEU's scores of small synthetic sets; the other metrics compared
// with values calculated by hand.
#include "metrics/classification.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "metrics/correlation.h"
#include "metrics/metric_text.h"
#include "metrics/perplexity.h"
#include "support/metric_goldens.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::metrics {
namespace {

TEST(TranslationMetrics, EqualSacreBleuOnEdgeCases) {
  const Json goldens = read_json(testing::golden("metrics/edge.json"));
  EXPECT_EQ(goldens["edge"].size(), 21u);
  for (const auto& [name, set] : goldens["edge"].items())
    testing::expect_metrics(name, set, set["hyp"], set["refs"]);
}

// sacreBLEU tokenizes references twice. The second time, it splits "'s" before the space that the first time
// has inserted, and the full stop before the digit.
TEST(TranslationMetrics, TerCountsTheWordsThatSacreBleuCounts) {
  const TerOptions options{.normalized = true, .asian_support = true};
  for (const std::string text : {"t's字", "..2"}) {
    const TerScore score = sentence_ter(text, std::span(&text, 1), options);
    EXPECT_EQ(score.reference_length, 3) << text;
    EXPECT_GT(score.edits, 0) << text;
  }
}

// The rules of mteval-v13a: a full stop or comma is separated from a character that is not an ASCII digit,
// and a dash from an ASCII digit before it.
TEST(TranslationMetrics, Tokenizer13aKeepsNumbersOfAllDigitsWhole) {
  const auto tokens = [](const std::u32string& text) {
    return tokenize_for_metric(text, MetricTokenizer::v13a);
  };
  for (const char32_t digit : std::u32string(U"0123456789")) {
    const std::u32string one(1, digit);
    SCOPED_TRACE(static_cast<char>(digit));
    EXPECT_EQ(tokens(one + U"." + one + U"," + one), one + U"." + one + U"," + one);
    EXPECT_EQ(tokens(one + U"-a"), one + U" - a");
    EXPECT_EQ(tokens(U"a-" + one), U"a-" + one);
    EXPECT_EQ(tokens(one + U".a"), one + U" . a");
    EXPECT_EQ(tokens(U"a," + one), U"a , " + one);
  }
  // the characters before 0 and after 9, and a digit that is not ASCII
  EXPECT_EQ(separate_stops(U"/.5"), U"/  .  5");
  EXPECT_EQ(separate_stops(U":.5"), U":  .  5");
  EXPECT_EQ(separate_stops(U"५.५"), U"५  .  ५");
}

TEST(TranslationMetrics, RefuseUnequalCounts) {
  const std::vector<std::string> hypotheses = {"a", "b"};
  const testing::References references = {{"a"}};
  EXPECT_REGARD_ERROR(corpus_bleu(hypotheses, references), ErrorKind::usage, "found 1 references");
  EXPECT_REGARD_ERROR(corpus_chrf(hypotheses, references), ErrorKind::usage, "found 1 references");
  EXPECT_REGARD_ERROR(corpus_ter(hypotheses, {}), ErrorKind::usage, "at least one set");
  EXPECT_REGARD_ERROR(metric_tokenizer_named("moses"), ErrorKind::usage, "13a, intl");
}

TEST(Perplexity, IsTheExponentOfTheMean) {
  EXPECT_DOUBLE_EQ(perplexity(std::log(50.0) * 7, 7), 50.0);
  EXPECT_TRUE(std::isinf(perplexity(1e9, 1)));
  EXPECT_THROW(perplexity(1, 0), Error);
}

TEST(Perplexity, CountsWordsAndBytes) {
  EXPECT_EQ(count_words(""), 0);
  EXPECT_EQ(count_words(" \n\t"), 0);
  EXPECT_EQ(count_words("a river\u00a0 नमस्ते दुनिया\n"), 4);
  EXPECT_DOUBLE_EQ(bits_per_byte(std::log(2.0) * 24, 8), 3.0);
  EXPECT_THROW(bits_per_byte(1, 0), Error);
}

// The true classes are 0 three times, 1 twice and 2 once. One 0 is predicted as 1, and the 2 is predicted as
// 0.
const std::vector<std::int32_t> kTruth = {0, 0, 0, 1, 1, 2};
const std::vector<std::int32_t> kPredicted = {0, 0, 1, 1, 1, 0};

TEST(Classification, CountsByHand) {
  EXPECT_DOUBLE_EQ(accuracy(kPredicted, kTruth), 4.0 / 6);
  const PrecisionRecall zero = by_class(count_classes(kPredicted, kTruth, 3))[0];
  EXPECT_DOUBLE_EQ(zero.precision, 2.0 / 3);
  EXPECT_DOUBLE_EQ(zero.recall, 2.0 / 3);
  const PrecisionRecall macro = precision_recall(kPredicted, kTruth, 3, Average::macro);
  EXPECT_DOUBLE_EQ(macro.precision, (2.0 / 3 + 2.0 / 3 + 0) / 3);
  EXPECT_DOUBLE_EQ(macro.recall, (2.0 / 3 + 1 + 0) / 3);
  EXPECT_DOUBLE_EQ(macro.f1, (2.0 / 3 + 4.0 / 5 + 0) / 3);
  const PrecisionRecall micro = precision_recall(kPredicted, kTruth, 3, Average::micro);
  EXPECT_DOUBLE_EQ(micro.f1, 4.0 / 6);
  EXPECT_THROW(precision_recall(kPredicted, kTruth, 2, Average::macro), Error);
  EXPECT_THROW(accuracy(kPredicted, std::span(kTruth).first(2)), Error);
}

TEST(Matthews, TwoAndMoreClasses) {
  // TP 6, TN 3, FP 1, FN 2: (6·3 − 1·2) / sqrt(7·8·4·5)
  std::vector<std::int32_t> truth, predicted;
  const auto add = [&](int count, int is, int said) {
    for (int i = 0; i < count; ++i) {
      truth.push_back(is);
      predicted.push_back(said);
    }
  };
  add(6, 1, 1), add(3, 0, 0), add(1, 0, 1), add(2, 1, 0);
  EXPECT_NEAR(matthews(predicted, truth, 2), 16 / std::sqrt(7.0 * 8 * 4 * 5), 1e-15);
  EXPECT_EQ(matthews(std::vector<std::int32_t>(truth.size(), 1), truth, 2), 0);
  // scikit-learn's formula with c = 4 correct of s = 6; p and t count the predicted and true rows of each
  // class: Σ p t = 9 + 6 + 0, Σ p² = 18, Σ t² = 14.
  EXPECT_NEAR(matthews(kPredicted, kTruth, 3), (4.0 * 6 - 15) / std::sqrt((36.0 - 18) * (36.0 - 14)), 1e-15);
}

TEST(Spearman, SharesRanksOfEqualValues) {
  const std::vector<double> a = {1, 2, 3, 4, 5};
  EXPECT_DOUBLE_EQ(spearman(a, std::vector<double>{5, 6, 7, 8, 7}), 8 / std::sqrt(10.0 * 9.5));
  EXPECT_DOUBLE_EQ(spearman(a, std::vector<double>{-1, -8, -27, -64, -125}), -1.0);
  EXPECT_TRUE(std::isnan(spearman(a, std::vector<double>(5, 1.0))));
  EXPECT_DOUBLE_EQ(pearson(a, std::vector<double>{2, 4, 6, 8, 10}), 1.0);
}

// A NaN has no rank. The result is NaN, as in scipy.
TEST(Spearman, OfANanIsNan) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> a = {1, 2, 3, 4, 5}, b = {5, nan, 7, 8, 7};
  EXPECT_TRUE(std::isnan(spearman(a, b)));
  EXPECT_TRUE(std::isnan(spearman(b, a)));
}

// pearson() returns NaN for equal values, even if rounding makes their mean different from the values, as for
// ten values of 0.3.
TEST(Pearson, OfEqualValuesIsNan) {
  const std::vector<double> numbers = {3, 0, 3, 0, 3, 2, 2, 0, 2, 1};
  for (const double value : {0.1, 0.3, 2.2}) {
    EXPECT_TRUE(std::isnan(pearson(std::vector<double>(10, value), numbers))) << value;
    EXPECT_TRUE(std::isnan(pearson(numbers, std::vector<double>(10, value)))) << value;
  }
}

// As in scipy, the result is from −1 to 1, and does not depend on the unit of the values.
TEST(Pearson, IsInItsRange) {
  EXPECT_EQ(pearson(std::vector<double>{0.9, 0.2, 0.3}, std::vector<double>{0.9 * 3, 0.2 * 3, 0.3 * 3}), 1.0);
  const std::vector<double> x{1, 2, 2, 4, 5, 5, 5}, y{3, 1, 4, 1, 5, 9, 2};
  for (const double unit : {1e-310, 1e-200, 1e-90, 1e90, 1e200}) {
    std::vector<double> a = x, b = y;
    for (std::size_t i = 0; i < x.size(); ++i) a[i] *= unit, b[i] *= unit;
    EXPECT_NEAR(pearson(a, b), pearson(x, y), 1e-12) << unit;
  }
}

// The expected numbers are scipy.stats.spearmanr and pearsonr of these values.
TEST(Evaluate, CorrelationsWithTies) {
  const std::vector<double> x{1, 2, 2, 4, 5, 5, 5}, y{3, 1, 4, 1, 5, 9, 2};
  EXPECT_NEAR(spearman(x, y), 0.3870681424252975, 1e-12);
  EXPECT_NEAR(pearson(x, y), 0.38818881278975664, 1e-12);
  EXPECT_TRUE(std::isnan(spearman(std::vector<double>{1, 1}, std::vector<double>{1, 2})));
  EXPECT_TRUE(std::isnan(spearman({}, {})));
}

}  // namespace
}  // namespace regard::metrics
