// Unigram: seed substrings compared with a brute-force search, pieces and likelihood compared with the
// reference trainer, round trips of texts.
#include "text/train_unigram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/random.h"
#include "base/utf8.h"
#include "support/shared_data.h"
#include "text/repeated_substrings.h"
#include "text/unigram_lattice.h"
#include "text/unigram_trainer.h"

namespace regard::text {
namespace {

LineSource corpus(bool line_ends) {
  return lines_of_files({testing::golden("tokenizer-training/corpus.txt")}, line_ends);
}

// Return the count of each substring of 2 to `most` characters within a word. Substrings that are always
// followed by the same character are omitted.
std::map<std::u32string, std::uint32_t> plain_substrings(const std::u32string& text, std::size_t most) {
  std::map<std::u32string, std::uint32_t> counts;
  std::map<std::u32string, std::set<char32_t>> followers;
  for (std::size_t begin = 0; begin < text.size(); ++begin)
    for (std::size_t size = 1; size <= most && text[begin + size - 1] != 0; ++size) {
      const std::u32string part = text.substr(begin, size);
      ++counts[part];
      followers[part].insert(text[begin + size]);
    }
  std::erase_if(
      counts, [&](const auto& entry) { return entry.first.size() < 2 || followers[entry.first].size() < 2; });
  return counts;
}

TEST(RepeatedSubstrings, AreThoseOfAPlainSearch) {
  RandomStream random({.seed = 3});
  ThreadPool two(2);
  for (int round = 0; round < 60; ++round) {
    std::u32string text;
    for (std::uint32_t words = 1 + random.next() % 40; words > 0; --words) {
      for (std::uint32_t size = 1 + random.next() % 12; size > 0; --size)
        text.push_back(U"abcदक🙂"[random.next() % (2 + static_cast<std::uint32_t>(round) % 5)]);
      text.push_back(0);
    }
    const std::vector<char32_t> letters(text.begin(), text.end());
    std::map<std::u32string, std::uint32_t> found;
    for (const Substring& s : repeated_substrings(letters, 6, round % 2 == 0 ? nullptr : &two))
      EXPECT_TRUE(found.emplace(text.substr(s.begin, s.length), s.count).second);
    EXPECT_EQ(found, plain_substrings(text, 6));
  }
}

// Return the sum of the probabilities of all segmentations of `word`, by enumeration. Add the probability of
// each segmentation to `used` for each of its pieces.
double plain_likelihood(const std::vector<ScoredPiece>& pieces, std::string_view word,
                        std::map<std::string, double>& used, std::vector<std::string>& path, double score) {
  if (word.empty()) {
    for (const std::string& piece : path) used[piece] += std::exp(score);
    return std::exp(score);
  }
  double sum = 0;
  for (const ScoredPiece& piece : pieces) {
    if (!word.starts_with(piece.piece)) continue;
    path.push_back(piece.piece);
    sum += plain_likelihood(pieces, word.substr(piece.piece.size()), used, path, score + piece.score);
    path.pop_back();
  }
  return sum;
}

TEST(UnigramLattice, ShareOfEachPieceIsThatOfAllCuts) {
  const std::vector<ScoredPiece> pieces = {{"a", -2.0},   {"b", -3.5},  {"ab", -2.5},  {"ba", -3.0},
                                           {"aba", -4.0}, {"bb", -6.0}, {"abab", -5.5}};
  const UnigramLattice lattice(pieces);
  UnigramLattice::Scratch scratch;
  for (const std::string word : {"a", "ab", "abab", "abbaabab", "babbabaab"}) {
    std::map<std::string, double> used, found;
    std::vector<std::string> path;
    const double sum = plain_likelihood(pieces, word, used, path, 0);
    EXPECT_NEAR(lattice.marginals(word, scratch), std::log(sum), 1e-12) << word;
    for (std::size_t i = 0; i < scratch.nodes.size(); ++i)
      found[pieces[static_cast<std::size_t>(scratch.nodes[i].id)].piece] += scratch.weights[i];
    for (const auto& [piece, weight] : used) EXPECT_NEAR(found[piece], weight / sum, 1e-12) << word;
  }
  // For a long text, the probability is below the range of double. Each segmentation ends with "b" or "bb".
  const std::string longer(2000, 'b');
  double score = -3.5, before = 0;  // of all letters so far, and of all but the last
  for (std::size_t size = 2; size <= longer.size(); ++size) {
    const double one = score - 3.5, two = before - 6.0;
    before = std::exchange(score, one + std::log1p(std::exp(two - one)));
  }
  EXPECT_LT(score, -3000);
  EXPECT_NEAR(lattice.marginals(longer, scratch), score, 1e-6);
  double letters = 0;
  for (std::size_t i = 0; i < scratch.nodes.size(); ++i)
    letters += scratch.weights[i] * (scratch.nodes[i].end - scratch.nodes[i].begin);
  EXPECT_NEAR(letters, 2000, 1e-6);
}

TEST(UnigramLattice, BestCutWithAndWithoutAPiece) {
  const std::vector<ScoredPiece> pieces = {{"a", -2.0}, {"b", -3.5}, {"ab", -2.5}, {"abab", -5.5}};
  const UnigramLattice lattice(pieces);
  EXPECT_EQ(lattice.lowest_score(), -5.5);
  UnigramLattice::Scratch scratch;
  const auto best = [&](std::string_view word, std::int32_t without = -2) {
    const double score = lattice.best(word, scratch, without);
    return std::pair(score, scratch.path);
  };
  using Path = std::vector<std::int32_t>;
  EXPECT_EQ(best("abab"), std::pair(-5.0, (Path{2, 2})));
  EXPECT_EQ(best("abab", 2), std::pair(-5.5, Path{3}));
  EXPECT_EQ(best("ab", 2), std::pair(-5.5, (Path{0, 1})));
  EXPECT_EQ(best("a", 0), std::pair(kMinusInfinity, Path{}));
  EXPECT_EQ(best("aa", 0), std::pair(kMinusInfinity, Path{}));
  EXPECT_EQ(best("ax"), std::pair(-2.0 - 5.5 - 10.0, (Path{0, UnigramLattice::kUnknown})));
}

// Compare every piece after no, one or several rounds of pruning. The reference gives characters whose pieces
// were pruned scores 0.0001 apart in the order of a hash table, so these scores may differ by up to 0.01.
TEST(TrainUnigram, PiecesAndLikelihoodAreThoseOfTheReference) {
  std::size_t seen = 0;
  for (const Json& entry : read_json(testing::golden("tokenizer-training/trained.json").string())) {
    if (entry.at("type") != "unigram") continue;
    ++seen;
    UnigramTrainingOptions options;
    options.vocabulary_size = entry.at("vocab_size").get<std::size_t>();
    options.words = WordRule::metaspace;
    options.byte_fallback = false;
    const auto tokenizer = train_unigram(corpus(true), options);
    const Json pieces = tokenizer->to_json().at("model").at("vocab");
    ASSERT_EQ(pieces.size(), entry.at("pieces").size());
    std::size_t apart = 0;
    for (std::size_t i = 4; i < pieces.size(); ++i) {
      const auto piece = entry.at("pieces")[i][0].get<std::string>();
      const auto id = tokenizer->id_of(piece);
      ASSERT_TRUE(id) << piece;
      const double difference = std::abs(pieces[static_cast<std::size_t>(*id)][1].get<double>() -
                                         entry.at("pieces")[i][1].get<double>());
      EXPECT_LT(difference, 0.01) << piece;
      if (difference < 1e-7) continue;
      EXPECT_EQ(utf8::code_points(piece).size(), 1u) << piece << " " << difference;
      ++apart;
    }
    EXPECT_LT(apart, 100u);
    double score = 0;
    std::string line;
    for (const LineSource lines = corpus(false); lines(line);)
      for (const std::int32_t id : tokenizer->encode_ids(line))
        score += pieces[static_cast<std::size_t>(id)][1].get<double>();
    EXPECT_NEAR(score / entry.at("log_likelihood").get<double>(), 1.0, 1e-4);
  }
  EXPECT_EQ(seen, 4u);
}

// Exchanging "ab" and "cd" does not change the words, so both pieces have the same loss. "cd" is later in
// byte order and therefore the earlier seed.
TEST(TrainUnigram, OfPiecesWithEqualLossesTheEarlierSeedIsKept) {
  const std::vector<WordCount> words{{"abe", 10}, {"abf", 10}, {"cde", 10}, {"cdf", 10}};
  UnigramTrainer::Limits limits;
  limits.pieces = 7, limits.special_tokens = 1;
  std::set<std::string> pieces;
  for (const ScoredPiece& piece :
       UnigramTrainer(words, nullptr).learn(limits, {U'a', U'b', U'c', U'd', U'e', U'f'}))
    pieces.insert(piece.piece);
  EXPECT_EQ(pieces, (std::set<std::string>{"a", "b", "c", "cd", "d", "e", "f"}));
}

// Without repeated substrings there is one round. Its steps of expectation-maximisation give both pieces the
// probability 1/2, then the difference of the digamma functions of 4 and 8, which is -(1/4 + 1/5 + 1/6 +
// 1/7).
TEST(TrainUnigram, ObjectiveIsTheMeanOverAllWords) {
  const std::vector<WordCount> words{{"a", 4}, {"b", 4}};
  UnigramTrainer trainer(words, nullptr);
  UnigramTrainer::Limits limits;
  limits.pieces = 10, limits.special_tokens = 0;
  limits.sub_iterations = 1;
  trainer.learn(limits, {});
  EXPECT_NEAR(trainer.objective(), std::log(2.0), 1e-12);
  UnigramTrainer again(words, nullptr);
  limits.sub_iterations = 2;
  again.learn(limits, {});
  EXPECT_NEAR(again.objective(), 1.0 / 4 + 1.0 / 5 + 1.0 / 6 + 1.0 / 7, 1e-9);
}

// 95 equally frequent words of one byte need log 95 nats per byte.
TEST(TrainUnigram, ObjectiveOfManyLettersIsExact) {
  std::vector<WordCount> words;
  for (char letter = ' '; letter <= '~'; ++letter) words.push_back({std::string(1, letter), 689});
  UnigramTrainer trainer(words, nullptr);
  UnigramTrainer::Limits limits;
  limits.pieces = 200, limits.special_tokens = 0, limits.sub_iterations = 1;
  EXPECT_EQ(trainer.learn(limits, {}).size(), 95u);
  EXPECT_NEAR(trainer.objective(), std::log(95.0), 1e-9);
}

// Required characters that are not pieces are added: the first with the lowest score of a piece, each further
// one with 0.0001 more.
TEST(TrainUnigram, RequiredCharactersWithoutAPieceHaveDifferentScores) {
  const std::vector<WordCount> words{{"a", 4}, {"b", 4}};
  UnigramTrainer::Limits limits;
  limits.pieces = 10, limits.special_tokens = 0;
  const std::vector<ScoredPiece> pieces =
      UnigramTrainer(words, nullptr).learn(limits, {U'a', U'b', U'x', U'y', U'z'});
  std::string order;
  for (const ScoredPiece& piece : pieces) order += piece.piece;
  ASSERT_EQ(order, "zyabx");
  EXPECT_EQ(pieces[2].score, pieces[4].score);
  EXPECT_EQ(pieces[2].score, pieces[3].score);
  EXPECT_NEAR(pieces[1].score - pieces[2].score, 0.0001, 1e-12);
  EXPECT_NEAR(pieces[0].score - pieces[2].score, 0.0002, 1e-12);
}

// The progress is the logarithmic share of the way from the seeds to the goal.
TEST(TrainUnigram, ProgressGrowsUpToOne) {
  std::vector<double> parts;
  const auto learn = [&](const std::vector<WordCount>& words, std::size_t pieces) {
    parts.clear();
    UnigramTrainer::Limits limits;
    limits.pieces = pieces, limits.special_tokens = 0;
    UnigramTrainer(words, nullptr).learn(limits, {}, [&](double part) { parts.push_back(part); });
  };
  learn({{"a", 4}, {"b", 4}}, 20);  // fewer seeds than the goal of 22 pieces
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_NEAR(parts[0], std::log(23.0 / 2) / std::log(23.0 / 22), 1e-9);
  std::vector<WordCount> words;
  for (char first = 'a'; first <= 'z'; ++first)
    for (const char* rest : {"abe", "abf", "cde", "cdf", "abab", "cdcd"})
      words.push_back({first + std::string(rest), 9});
  learn(words, 40);
  ASSERT_GT(parts.size(), 2u);
  EXPECT_TRUE(std::is_sorted(parts.begin(), parts.end()));
  EXPECT_GE(parts.front(), 0.0);
  EXPECT_LT(parts.front(), 1.0);
  EXPECT_GE(parts.back(), 1.0);
}

TEST(TrainUnigram, DecodingGivesTheTextInNormalFormC) {
  for (const bool prefix : {false, true})
    for (const std::size_t most : {std::size_t{0}, std::size_t{30}}) {
      UnigramTrainingOptions options;
      options.vocabulary_size = 700;
      options.prefix_space = options.end_token = prefix;
      options.alphabet.max_characters = most;
      const auto tokenizer = train_unigram(corpus(false), options);
      std::vector<std::string> texts = {
          "",       " ",         "  two  spaces ", "\n\n",         " lead",   "trail ",
          "<0x41>", "<s> <unk>", "\u2581x \u2581", "e\u0301 ☃ 🙂", "a\u0000b"};
      texts.push_back(std::string("nul \0 byte", 10));
      std::string line;
      for (const LineSource lines = corpus(true); lines(line);) texts.push_back(line);
      for (const std::string& text : texts)
        ASSERT_EQ(tokenizer->decode(tokenizer->encode_ids(text, {.match_special = false})), utf8::nfc(text));
      EXPECT_EQ(Tokenizer::from_json(tokenizer->to_json(), "again")->to_json(), tokenizer->to_json());
    }
}

TEST(TrainUnigram, ThreadsAndOrderOfLinesChangeNoBit) {
  std::vector<std::string> lines;
  std::string line;
  for (const LineSource source = corpus(false); source(line);) lines.push_back(line);
  UnigramTrainingOptions options;
  options.vocabulary_size = 600;
  const Json expected = train_unigram(lines_of(lines), options)->to_json();
  ThreadPool three(3);
  EXPECT_EQ(train_unigram(lines_of(lines), options, &three)->to_json(), expected);
  std::reverse(lines.begin(), lines.end());
  EXPECT_EQ(train_unigram(lines_of(lines), options, &three)->to_json(), expected);
}

TEST(TrainUnigram, SizesOutOfReach) {
  UnigramTrainingOptions options;
  options.vocabulary_size = 280;
  EXPECT_THROW(train_unigram(corpus(false), options), Error);
  options.vocabulary_size = 100000;
  const auto tokenizer = train_unigram(corpus(false), options);
  EXPECT_LT(tokenizer->vocabulary_size(), 100000);
  EXPECT_EQ(train_unigram(lines_of({}), {})->vocabulary_size(), 4 + 256 + 27);
}

}  // namespace
}  // namespace regard::text
