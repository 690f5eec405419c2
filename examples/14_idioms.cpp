// 14. Distinguish the idiom "a piece of cake" from the food. Compare attention without parameters, with
// random projections and with learned projections. Word vectors are random and fixed; a linear layer reads
// the output of "cake". One JSON object per line; tools/make_claims.sh collects them for
// docs/why-attention.md.
#include <cstdio>
#include <string>
#include <vector>

#include "regard/autograd.h"
#include "regard/math.h"

using regard::Tensor;
using regard::Value;

static constexpr std::int64_t kSize = 16;
static const std::vector<std::string> kEasy = {"exam", "test",   "job",    "match",
                                               "game", "puzzle", "lesson", "race"},
                                      kFood = {"boy",   "girl", "man",   "woman",
                                               "child", "cook", "guest", "friend"},
                                      kFill = {"really", "again", "today", "there", "then", "later"};

struct Sentence {
  std::vector<std::string> words;  // the last word is "cake"
  std::int32_t label;              // 1: idiom, 0: food
};

// Sentences such as "exam … a piece of cake" (idiom) and "boy … a piece of cake" (food). They have no verb,
// so that only the subject distinguishes them; `fill` meaningless words separate the subject from "a piece of
// cake".
static std::vector<Sentence> sentences(std::size_t from, std::size_t to, std::size_t fill,
                                       std::size_t shift) {
  std::vector<Sentence> all;
  for (std::size_t i = from; i < to; ++i) {
    for (const std::int32_t label : {0, 1}) {
      for (std::size_t variant = 0; variant < 3; ++variant) {
        Sentence one{{(label == 1 ? kEasy : kFood)[i]}, label};
        for (std::size_t f = 0; f < fill; ++f)
          one.words.push_back(kFill[(i * 5 + variant * 7 + f * (f + 1) + shift) % kFill.size()]);
        for (const char* word : {"a", "piece", "of", "cake"}) one.words.emplace_back(word);
        all.push_back(one);
      }
    }
  }
  return all;
}

enum class Mode { none, random, learned };

static double accuracy_of(Mode mode, std::uint64_t seed, std::size_t fill) {
  regard::Learner learner;
  const auto matrix = [&](const char* name, std::int64_t rows) {
    return regard::random_normal({rows, kSize}, seed, name, 0.25F);
  };
  // Fixed matrices are constants; learned matrices are parameters.
  const Value answer = learner.parameter("answer", matrix("answer", 2));
  const Value q = mode == Mode::learned ? learner.parameter("q", matrix("W_Q", kSize)) : nullptr,
              k = mode == Mode::learned ? learner.parameter("k", matrix("W_K", kSize)) : nullptr,
              v = mode == Mode::learned ? learner.parameter("v", matrix("W_V", kSize)) : nullptr;
  const auto forward = [&](const Sentence& sentence) {
    Tensor vectors = Tensor::empty({static_cast<std::int64_t>(sentence.words.size()), kSize});
    for (std::size_t i = 0; i < sentence.words.size(); ++i) {
      // Subjects of one kind share a direction, as trained vectors do. In addition, every word has its own
      // random part.
      const bool subject = i == 0;
      const Tensor own = regard::random_normal({kSize}, seed, sentence.words[i], 0.6F),
                   kind = regard::random_normal({kSize}, seed, sentence.label == 1 ? "task" : "person", 0.6F);
      for (std::int64_t f = 0; f < kSize; ++f)
        vectors.row(static_cast<std::int64_t>(i))[f] = own.f32()[f] + (subject ? kind.f32()[f] : 0.0F);
    }
    const Value x = learner.constant(vectors);
    const auto times = [&](Value learned, const char* name) {
      return mode == Mode::none      ? x
             : mode == Mode::learned ? learner.linear(x, learned)
                                     : learner.linear(x, learner.constant(matrix(name, kSize)));
    };
    const Value mixed = learner.attention(times(q, "W_Q"), times(k, "W_K"), times(v, "W_V"));
    const std::int32_t cake[] = {static_cast<std::int32_t>(sentence.words.size()) - 1};
    return learner.linear(learner.embedding(mixed, cake), answer);
  };
  const std::vector<Sentence> training = sentences(0, 6, fill, 0), held_out = sentences(6, 8, fill, 3);
  for (int epoch = 0; epoch < 60; ++epoch) {
    for (const Sentence& sentence : training) {
      learner.begin();
      const std::int32_t label[] = {sentence.label};
      learner.step(learner.cross_entropy(forward(sentence), label), 5e-3F);
    }
  }
  double right = 0;
  for (const Sentence& sentence : held_out) {
    learner.begin();
    const Tensor& scores = learner.value(forward(sentence));
    right += (scores.f32()[1] > scores.f32()[0] ? 1 : 0) == sentence.label;
  }
  return right / static_cast<double>(held_out.size());
}

int main() {
  const char* names[] = {"none", "random", "learned"};
  for (const std::size_t fill : {0, 4, 16})
    for (const Mode mode : {Mode::none, Mode::random, Mode::learned})
      for (const std::uint64_t seed : {1, 2, 3, 4, 5})
        std::printf("{\"projections\": \"%s\", \"words_between\": %zu, \"seed\": %d, \"accuracy\": %.3f}\n",
                    names[static_cast<int>(mode)], fill, static_cast<int>(seed),
                    accuracy_of(mode, seed, fill));
}
