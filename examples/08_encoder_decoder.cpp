// 8. A complete encoder–decoder with layer norms before each sublayer (pre-norm) or after each residual sum
// (post-norm). Trained on four sentence pairs, it learns when to translate "piece of cake" as सरल काम; a
// word-by-word dictionary cannot do this.
#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>

#include "regard/autograd.h"
#include "regard/math.h"

using regard::Value;
using Ids = std::vector<std::int32_t>;
static constexpr std::int64_t kSize = 32, kHeads = 4, kVocabulary = 32;
static std::vector<std::string> vocabulary{"<s>", "</s>"};
static Ids ids_of(const std::string& text) {
  Ids ids;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) {
    ids.push_back(static_cast<std::int32_t>(std::ranges::find(vocabulary, word) - vocabulary.begin()));
    if (ids.back() == static_cast<std::int32_t>(vocabulary.size())) vocabulary.push_back(word);
  }
  return ids;
}

struct Translator {
  bool pre_norm;
  regard::Learner learner = {};
  std::map<std::string, Value> weights = {};
  regard::Tensor positions = regard::sinusoidal_positions(16, kSize);
  Value weight(const std::string& name, std::int64_t rows, std::int64_t columns) {
    Value& weight = weights[name];
    if (!weight) weight = learner.parameter(name, regard::random_normal({rows, columns}, 8, name, 0.18F));
    return weight;
  }
  Value linear(const std::string& name, Value x, std::int64_t out = kSize) {
    return learner.linear(x, weight(name, out, learner.value(x).columns()));
  }
  Value attend(const std::string& name, Value x, Value memory, bool causal) {
    const Value q = linear(name + "q", x), k = linear(name + "k", memory), v = linear(name + "v", memory);
    return linear(name + "o", learner.attention(q, k, v, causal, kHeads));
  }
  Value branch(Value x, const auto& layer) {  // a sublayer with residual connection and norm
    return pre_norm ? learner.add(x, layer(learner.layer_norm(x)))
                    : learner.layer_norm(learner.add(x, layer(x)));
  }
  // Two layers over `ids`: an encoder, or a decoder if the encoder's output is given.
  Value run(const std::string& side, const Ids& ids, Value memory = nullptr) {
    Value x = learner.embedding(weight(side, kVocabulary, kSize), ids);
    x = learner.add(x, learner.constant(positions.slice_rows(0, std::ssize(ids))));
    for (const std::string& layer : {side + ".0.", side + ".1."}) {
      x = branch(x, [&](Value y) { return attend(layer + "self.", y, y, memory != nullptr); });
      if (memory) x = branch(x, [&](Value y) { return attend(layer + "cross.", y, memory, false); });
      x = branch(x,
                 [&](Value y) { return linear(layer + "down", learner.relu(linear(layer + "up", y, 64))); });
    }
    if (pre_norm) x = learner.layer_norm(x);
    return memory ? linear("output", x, kVocabulary) : x;
  }
  float train(const std::string& english, const std::string& hindi) {
    learner.begin();
    const Value memory = run("encoder", ids_of(english));
    const Value logits = run("decoder", ids_of("<s> " + hindi), memory);
    return learner.step(learner.cross_entropy(logits, ids_of(hindi + " </s>")), 2e-3F);
  }
  std::string translate(const std::string& source) {
    std::string text;
    for (Ids written{0}; written.size() < 12;
         text += " " + vocabulary.at(static_cast<std::size_t>(written.back()))) {
      learner.begin();
      const Value logits = run("decoder", written, run("encoder", ids_of(source)));
      const float* last = learner.value(logits).row(std::ssize(written) - 1);
      written.push_back(static_cast<std::int32_t>(std::max_element(last, last + kVocabulary) - last));
      if (written.back() == 1) break;
    }
    return text;
  }
};

int main() {
  const std::map<std::string, std::string> pairs = {{"the exam was a piece of cake", "परीक्षा एक सरल काम थी"},
                                                    {"the exam was hard", "परीक्षा कठिन थी"},
                                                    {"he ate a piece of cake", "उसने केक का टुकड़ा खाया"},
                                                    {"he ate a piece of bread", "उसने रोटी का टुकड़ा खाया"}};
  for (const bool pre_norm : {true, false}) {
    Translator translator{pre_norm};
    std::printf("%s, loss after 0, 10, 20, 40 epochs:", pre_norm ? "pre-norm" : "post-norm");
    for (int epoch = 0; epoch <= 40; ++epoch) {
      double loss = 0;
      for (const auto& [english, hindi] : pairs) loss += translator.train(english, hindi) / 4.0;
      if (epoch % 20 == 0 || epoch == 10) std::printf(" %.2f", loss);
    }
    std::printf("\n");
    for (const auto& [english, hindi] : pairs)
      std::printf("  %-29s%s\n", english.c_str(), translator.translate(english).c_str());
  }
  const char *cake = "केक", *of = "का", *piece = "टुकड़ा";  // entries of a dictionary, which has no context
  std::printf("word by word, in every sentence: %s %s %s\n", cake, of, piece);
}
