// 4. W_Q, W_K and W_V learned by back-propagation, together with the word vectors. The task: is the sentence
// about food, or about how easy something was?
// "cake" and "piece" occur in sentences of both kinds, so only the context of these words decides. The
// program prints the similarities before and after training.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "regard/autograd.h"
#include "regard/math.h"
#include "regard/print.h"

using regard::Tensor;
using regard::Value;

static const std::vector<std::string> kWords = {"[read]", "exam",  "test", "easy", "plate",
                                                "eat",    "bread", "cake", "piece"};

struct Sentence {
  std::vector<std::int32_t> ids;  // word ids; the first is [read], whose output is classified
  std::int32_t label;             // 0: food, 1: easy
};

static const std::vector<Sentence> kSentences = {
    {{0, 1, 8, 7}, 1}, {{0, 2, 8, 7}, 1}, {{0, 1, 3}, 1}, {{0, 2, 3}, 1},
    {{0, 4, 8, 7}, 0}, {{0, 5, 8, 6}, 0}, {{0, 5, 7}, 0}, {{0, 6, 4}, 0},
};

static constexpr std::int64_t kSize = 8;

static Tensor row(const Tensor& vectors, std::int64_t word) {
  return vectors.slice_rows(word, word + 1);
}

int main() {
  regard::Learner learner;
  const Tensor initial = regard::random_normal({9, kSize}, 11, "general vectors", 0.6F);
  const Value table = learner.parameter("vectors", initial);
  const auto matrix = [&](const char* name, std::int64_t rows) {
    return learner.parameter(name, regard::random_normal({rows, kSize}, 11, name, 0.35F));
  };
  const Value w_q = matrix("W_Q", kSize), w_k = matrix("W_K", kSize), w_v = matrix("W_V", kSize),
              answer = matrix("answer", 2);

  const auto forward = [&](const Sentence& sentence) {
    const Value x = learner.embedding(table, sentence.ids);
    const Value mixed =
        learner.attention(learner.linear(x, w_q), learner.linear(x, w_k), learner.linear(x, w_v));
    const std::int32_t read[] = {0};
    return learner.linear(learner.embedding(mixed, read), answer);  // two scores, from the output of [read]
  };

  std::printf("%6s  %s\n", "epoch", "mean loss");
  for (int epoch = 0; epoch <= 40; ++epoch) {
    double sum = 0;
    for (const Sentence& sentence : kSentences) {
      learner.begin();
      const std::int32_t label[] = {sentence.label};
      sum += static_cast<double>(learner.step(learner.cross_entropy(forward(sentence), label), 1e-2F));
    }
    if (epoch % 10 == 0) std::printf("%6d  %.4f\n", epoch, sum / static_cast<double>(kSentences.size()));
  }

  int right = 0;
  for (const Sentence& sentence : kSentences) {
    learner.begin();
    const Tensor scores = learner.value(forward(sentence));
    right += (scores.f32()[1] > scores.f32()[0] ? 1 : 0) == sentence.label;
  }
  std::printf("right: %d of %zu\n\n", right, kSentences.size());

  const Tensor learned = learner.value(table);
  std::printf("%-16s %10s %15s\n", "cosine", "random", "learned");
  const std::int64_t pairs[][2] = {{1, 2}, {1, 3}, {5, 6}, {1, 5}, {2, 4}, {7, 8}};
  for (const auto& pair : pairs)
    std::printf("%-16s %10.3f %15.3f\n",
                (kWords[static_cast<std::size_t>(pair[0])] + ", " + kWords[static_cast<std::size_t>(pair[1])])
                    .c_str(),
                static_cast<double>(regard::cosine_similarity(row(initial, pair[0]), row(initial, pair[1]))),
                static_cast<double>(regard::cosine_similarity(row(learned, pair[0]), row(learned, pair[1]))));

  learner.begin();
  const Value x = learner.embedding(table, kSentences[0].ids);
  const Tensor q = learner.value(learner.linear(x, w_q)), k = learner.value(learner.linear(x, w_k));
  const Tensor weights = regard::softmax(regard::scale(regard::matmul_transposed(q, k), 1.0F / 2.8284271F));
  std::printf("\n%s", regard::matrix_text("weights of \"exam … piece cake\"", weights,
                                          {.digits = 2,
                                           .row_names = {"[read]", "exam", "piece", "cake"},
                                           .column_names = {"[read]", "exam", "piece", "cake"}})
                          .c_str());
}
