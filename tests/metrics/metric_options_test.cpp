// Options of BLEU, chrF and TER: defaults, signatures, limits, and scores from the statistics of lines.
#include <gtest/gtest.h>

#include <cmath>

#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/ter.h"
#include "support/throws.h"

namespace regard::metrics {
namespace {

// Of "a b c", 1 of 3 words, 0 of 2 pairs and 0 of 1 triple occur in "a x y z".
TEST(BleuSmoothingValues, AreThoseOfSacreBleuByDefault) {
  const std::string reference[] = {"a x y z"};
  const double penalty = std::exp(1 - 4.0 / 3.0);
  BleuOptions options;
  options.max_order = 3, options.smoothing = BleuSmoothing::floor;
  EXPECT_NEAR(sentence_bleu("a b c", reference, options).score,
              100 * penalty * std::cbrt(1.0 / 3 * (0.1 / 2) * (0.1 / 1)), 1e-9);
  options.smoothing_value = 0.25;
  EXPECT_NEAR(sentence_bleu("a b c", reference, options).score,
              100 * penalty * std::cbrt(1.0 / 3 * (0.25 / 2) * (0.25 / 1)), 1e-9);
  options.smoothing = BleuSmoothing::add_k, options.smoothing_value.reset();
  EXPECT_NEAR(sentence_bleu("a b c", reference, options).score,
              100 * penalty * std::cbrt(1.0 / 3 * (1.0 / 3) * (1.0 / 2)), 1e-9);
  options.smoothing = BleuSmoothing::exp;
  EXPECT_NEAR(sentence_bleu("a b c", reference, options).score,
              100 * penalty * std::cbrt(1.0 / 3 * (0.5 / 2) * (0.25 / 1)), 1e-9);
  options.smoothing = BleuSmoothing::none;
  EXPECT_EQ(sentence_bleu("a b c", reference, options).score, 0);
}

TEST(MetricSignatures, NameEveryOption) {
  const auto before_version = [](const std::string& signature) {
    return signature.substr(0, signature.find("|version:"));
  };
  BleuOptions bleu;
  EXPECT_EQ(before_version(bleu_signature(bleu, 1)), "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp");
  bleu.lowercase = bleu.effective_order = true, bleu.tokenizer = MetricTokenizer::chinese;
  bleu.smoothing = BleuSmoothing::floor;
  EXPECT_EQ(before_version(bleu_signature(bleu, 2)), "nrefs:2|case:lc|eff:yes|tok:zh|smooth:floor[0.10]");
  bleu.smoothing = BleuSmoothing::add_k;
  EXPECT_EQ(before_version(bleu_signature(bleu, 2)), "nrefs:2|case:lc|eff:yes|tok:zh|smooth:add-k[1.00]");
  bleu.smoothing = BleuSmoothing::none;
  EXPECT_EQ(before_version(bleu_signature(bleu, 2)), "nrefs:2|case:lc|eff:yes|tok:zh|smooth:none");
  ChrfOptions chrf;
  EXPECT_EQ(before_version(chrf_signature(chrf, 1)), "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no");
  EXPECT_EQ(chrf_name(chrf), "chrF2");
  chrf.lowercase = chrf.epsilon_smoothing = chrf.whitespace = true;
  chrf.character_order = 4, chrf.word_order = 2, chrf.beta = 3;
  EXPECT_EQ(before_version(chrf_signature(chrf, 3)), "nrefs:3|case:lc|eff:no|nc:4|nw:2|space:yes");
  EXPECT_EQ(chrf_name(chrf), "chrF3++");
  TerOptions ter;
  EXPECT_EQ(before_version(ter_signature(ter, 1)), "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no");
  ter = {.normalized = true, .no_punctuation = true, .asian_support = true, .case_sensitive = true};
  EXPECT_EQ(before_version(ter_signature(ter, 2)),
            "nrefs:2|case:mixed|tok:tercom|norm:yes|punct:no|asian:yes");
}

TEST(MetricOrders, AreAtLeastOne) {
  const std::string text[] = {"a b"};
  const auto bleu = [&](int order) {
    BleuOptions options;
    options.max_order = order;
    return sentence_bleu("a b", text, options).score;
  };
  for (const int order : {0, -1})
    EXPECT_REGARD_ERROR(bleu(order), ErrorKind::usage,
                        "the largest order of BLEU is out of range (expected at least 1, found " +
                            std::to_string(order) + ")");
  EXPECT_NEAR(bleu(1), 100, 1e-9);
  for (const auto& [characters, words] : {std::pair{0, 0}, {-1, 2}, {2, -1}})
    EXPECT_REGARD_ERROR(
        sentence_chrf("a b", text, {.character_order = characters, .word_order = words}), ErrorKind::usage,
        "chrF requires at least one order of n-grams (expected at least 0 of each, and 1 in all, found " +
            std::to_string(characters) + " orders of characters, " + std::to_string(words) + " of words)");
  EXPECT_NEAR(sentence_chrf("a b", text, {.character_order = 0, .word_order = 1}), 100, 1e-9);
  EXPECT_NEAR(sentence_chrf("a b", text, {.character_order = 1, .word_order = 0}), 100, 1e-9);
}

// The score of a text is computed from the sums of its lines' statistics, for all options.
TEST(MetricStatistics, AddUpToTheScoreOfTheText) {
  const std::vector<std::string> lines{"The cat, sat on a mat", "a dog ran", "one two three four"};
  const std::vector<std::vector<std::string>> references{
      {"the cat sat on the mat", "the dog runs", "one two three four five"},
      {"A cat sat", "dogs ran away from it", "four three two one"}};
  const auto summed = [&](const auto& statistics) {
    std::vector<double> sums;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::vector<float> own = statistics(lines[i], line_of(references, i));
      sums.resize(own.size());
      for (std::size_t at = 0; at < own.size(); ++at) sums[at] += static_cast<double>(own[at]);
    }
    return sums;
  };
  for (const BleuSmoothing smoothing :
       {BleuSmoothing::none, BleuSmoothing::floor, BleuSmoothing::add_k, BleuSmoothing::exp})
    for (const int order : {2, 5}) {
      BleuOptions options;
      options.smoothing = smoothing, options.max_order = order, options.lowercase = order == 2;
      const BleuScore score = corpus_bleu(lines, references, options);
      const auto sums =
          summed([&](const auto& line, const auto& own) { return bleu_statistics(line, own, options); });
      EXPECT_NEAR(bleu_of(sums, options), score.score, 1e-9);
      EXPECT_EQ(sums[0], static_cast<double>(score.hypothesis_length));
      EXPECT_EQ(sums[1], static_cast<double>(score.reference_length));
    }
  for (const ChrfOptions& options : {ChrfOptions{}, ChrfOptions{.character_order = 3, .word_order = 2},
                                     ChrfOptions{.lowercase = true, .epsilon_smoothing = true}})
    EXPECT_NEAR(chrf_of(summed([&](const auto& line, const auto& own) {
                          return chrf_statistics(line, own, options);
                        }),
                        options),
                corpus_chrf(lines, references, options), 1e-4);
  const TerOptions options{.case_sensitive = true};
  const TerScore score = corpus_ter(lines, references, options);
  const auto sums =
      summed([&](const auto& line, const auto& own) { return ter_statistics(line, own, options); });
  EXPECT_EQ(sums[0], static_cast<double>(score.edits));
  EXPECT_NEAR(ter_of(sums), score.score, 1e-5);
  EXPECT_EQ(ter_of(std::vector<double>{2, 0}), 100);
  EXPECT_EQ(ter_of(std::vector<double>{0, 0}), 0);
}

}  // namespace
}  // namespace regard::metrics
