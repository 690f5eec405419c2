// Reading a corpus: words, counts, phrases, sampling.
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "support/temporary_folder.h"
#include "support/throws.h"
#include "vectors/corpus.h"
#include "vectors/phrases.h"
#include "vectors/sampling.h"

namespace regard::vectors {
namespace {

using Strings = std::vector<std::string>;

class CorpusReading : public ::testing::Test {
 protected:
  Corpus read(const Strings& lines, CorpusOptions options) {
    options.temporary = folder_.path();
    return read_corpus(text::lines_of(lines), options);
  }
  // Convert the corpus back to text, one string per sentence.
  static Strings sentences(const Corpus& corpus) {
    Strings all{""};
    for (const std::int32_t id : corpus.ids->records()) {
      if (id == kSentenceEnd) {
        all.emplace_back();
        continue;
      }
      if (!all.back().empty()) all.back() += ' ';
      all.back() += corpus.words.at(static_cast<std::size_t>(id));
    }
    all.pop_back();
    return all;
  }
  testing::TemporaryFolder folder_;
};

TEST_F(CorpusReading, SplitsLines) {
  Strings words;
  split_line(" The  bank's\tmoney\xc2\xa0grew, 'twas 3.5% ", Split::blanks, false, words);
  EXPECT_EQ(words, (Strings{"The", "bank's", "money", "grew,", "'twas", "3.5%"}));
  split_line("The bank's 'money' grew, Élan—VITAL बैंक का 3.5% rock'n'roll'", Split::words, true, words);
  EXPECT_EQ(words, (Strings{"the", "bank's", "money", "grew", "élan", "vital", "बैंक", "का", "3", "5",
                            "rock'n'roll"}));
  split_line("  \t", Split::words, true, words);
  EXPECT_TRUE(words.empty());
}

TEST_F(CorpusReading, CommonestFirstRareOnesLeftOut) {
  CorpusOptions options;
  options.min_count = 2;
  const Corpus corpus = read({"b a c a", "", "a b d", "e"}, options);
  EXPECT_EQ(corpus.words, (Strings{"a", "b"}));
  EXPECT_EQ(corpus.counts, (std::vector<std::int64_t>{3, 2}));
  EXPECT_EQ(corpus.tokens, 5);
  EXPECT_EQ(corpus.tokens_read, 8);
  EXPECT_EQ(sentences(corpus), (Strings{"b a a", "a b", ""}));
  options.max_words = 1;
  EXPECT_EQ(read({"b a c a", "a b"}, options).words, (Strings{"a"}));
  options.min_count = 9;
  EXPECT_REGARD_ERROR(read({"a b"}, options), ErrorKind::usage, "9 times");
}

TEST_F(CorpusReading, LongLinesAreCut) {
  CorpusOptions options;
  options.min_count = 1;
  options.max_sentence = 3;
  EXPECT_EQ(sentences(read({"a b c d e f g"}, options)), (Strings{"a b c", "d e f", "g"}));
}

TEST_F(CorpusReading, LeavesNothingBehind) {
  read({"a a a a a a"}, {});
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(CorpusReading, NeedsItsTemporaryFolder) {
  CorpusOptions options;
  options.temporary = folder_ / "missing";
  testing::expect_error_text(
      ErrorKind::io,
      options.temporary.string() + ": cannot create a temporary file: No such file or directory",
      [&] { read_corpus(text::lines_of(Strings{"a a a a a a"}), options); });
}

// word2phrase's rule by hand: of 12 tokens, "new york" occurs 3 times, like each of its words:
// (3 − 1) / 9 · 12 = 2.67; "york is": (2 − 1) / (3 · 2) · 12 = 2.
TEST_F(CorpusReading, PhrasesAreJoinedByTheirScore) {
  const Strings lines{"new york is", "new york is", "new york", "a b c d"};
  CorpusOptions options;
  options.min_count = 1;
  options.phrase_passes = 1;
  options.phrase_threshold = 2.5;
  EXPECT_EQ(sentences(read(lines, options)), (Strings{"new_york is", "new_york is", "new_york", "a b c d"}));
  options.phrase_threshold = 2.7;
  EXPECT_EQ(sentences(read(lines, options))[0], "new york is");
  // A second pass joins phrases: 9 tokens, (2 − 1) / (3 · 2) · 9 = 1.5.
  options.phrase_threshold = 1.4;
  options.phrase_passes = 2;
  const Corpus twice = read({"new york is", "new york is", "new york", "a b c d"}, options);
  EXPECT_EQ(sentences(twice)[0], "new_york_is");
  EXPECT_EQ(twice.counts[0], 2);
}

// A pair is counted by both of its words: "red car" occurs 3 times, "old car" once.
TEST_F(CorpusReading, PairsWithTheSameSecondWordAreCountedApart) {
  CorpusOptions options;
  options.min_count = 1;
  options.phrase_passes = 1;
  options.phrase_threshold = 0.5;
  const Corpus corpus = read({"the red car", "the red car", "the red car", "the old car", "the"}, options);
  EXPECT_EQ(sentences(corpus), (Strings{"the_red car", "the_red car", "the_red car", "the old car", "the"}));
}

TEST_F(CorpusReading, PhrasesNeverCrossSentencesNorShareWords) {
  CorpusOptions options;
  options.min_count = 1;
  options.phrase_passes = 1;
  options.phrase_threshold = 0.01;
  const Corpus corpus = read({"a a a", "b", "b c", "b c"}, options);
  EXPECT_EQ(sentences(corpus), (Strings{"a_a a", "b", "b_c", "b_c"}));
}

TEST_F(CorpusReading, PhrasesWithTheSameSpellingAreOneWord) {
  CorpusOptions options;
  options.min_count = 1;
  options.phrase_passes = 1;
  options.phrase_threshold = 1.0;
  // "a b_c", "a_b c" and the word "a_b_c"
  const Corpus corpus = read({"a b_c", "a b_c", "a_b c", "a_b c", "a_b_c"}, options);
  EXPECT_EQ(corpus.words, (Strings{"a_b_c"}));
  EXPECT_EQ(corpus.counts, (std::vector<std::int64_t>{5}));
}

TEST(Sampling, TheAliasTableHasTheProbabilities) {
  const std::vector<double> weights{5, 0, 1, 0.25, 17, 3, 3};
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const AliasTable table(weights);
  for (std::size_t i = 0; i < weights.size(); ++i) EXPECT_NEAR(table.probability(i), weights[i] / sum, 1e-8);
  RandomStream random({1, 2, 3});
  std::map<std::int32_t, int> seen;
  constexpr int kDraws = 200000;
  for (int i = 0; i < kDraws; ++i) ++seen[table.draw(random)];
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double p = weights[i] / sum, deviation = std::sqrt(p * (1 - p) * kDraws);
    EXPECT_NEAR(seen[static_cast<std::int32_t>(i)], p * kDraws, 5 * deviation + 1e-9) << i;
  }
}

TEST(Sampling, SubsamplingIsWord2vecsCode) {
  const std::vector<std::int64_t> counts{900, 99, 1};
  const auto keep = keep_probabilities(counts, 0.01);
  EXPECT_NEAR(keep[0], (std::sqrt(900 / (0.01 * 1000)) + 1) * (0.01 * 1000) / 900, 1e-6);
  EXPECT_NEAR(keep[1], (std::sqrt(99 / (0.01 * 1000)) + 1) * (0.01 * 1000) / 99, 1e-6);
  EXPECT_EQ(keep[2], 1.0f);
  EXPECT_EQ(keep_probabilities(counts, 0.0), (std::vector<float>{1, 1, 1}));
}

// All codes differ, and their total length equals the length of a Huffman code.
TEST(Sampling, TheTreeIsHuffmans) {
  const std::vector<std::int64_t> counts{45, 13, 12, 16, 9, 5};  // example of Cormen et al.: cost 224
  const HuffmanTree tree(counts);
  std::int64_t cost = 0;
  std::map<std::vector<float>, std::size_t> ways;
  for (std::size_t word = 0; word < counts.size(); ++word) {
    const auto begin = static_cast<std::ptrdiff_t>(tree.begin[word]),
               end = static_cast<std::ptrdiff_t>(tree.begin[word + 1]);
    cost += counts[word] * (end - begin);
    ASSERT_EQ(tree.node[static_cast<std::size_t>(begin)], 4);  // node 4 is the root
    for (std::ptrdiff_t at = begin; at < end; ++at) {
      ASSERT_GE(tree.node[static_cast<std::size_t>(at)], 0);
      ASSERT_LT(tree.node[static_cast<std::size_t>(at)], 5);
    }
    ways[{tree.label.begin() + begin, tree.label.begin() + end}] = word;
  }
  EXPECT_EQ(cost, 224);
  EXPECT_EQ(ways.size(), counts.size());
}

// Node 0 is the root. The rarer word takes the first branch.
TEST(Sampling, TheTreeOfTwoWordsHasOneNode) {
  const HuffmanTree two(std::vector<std::int64_t>{3, 1});
  EXPECT_EQ(two.begin, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(two.node, (std::vector<std::int32_t>{0, 0}));
  EXPECT_EQ(two.label, (std::vector<float>{0, 1}));
  const HuffmanTree one(std::vector<std::int64_t>{3});
  EXPECT_EQ(one.begin, (std::vector<std::uint64_t>{0, 0}));
  EXPECT_TRUE(one.node.empty());
}

}  // namespace
}  // namespace regard::vectors
