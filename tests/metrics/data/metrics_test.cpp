// BLEU, chrF and TER compared with sacreBLEU on whole corpora, and its tokenizers line by line.
#include <gtest/gtest.h>

#include <sstream>

#include "base/file.h"
#include "base/utf8.h"
#include "support/metric_goldens.h"
#include "support/shared_data.h"

namespace regard::metrics {
namespace {

std::filesystem::path folder() {
  return testing::shared_folder() / "conformance" / "metrics";
}

// Split at "\n" only: one of the files has "\r" at the ends of its lines, which is part of the scored text.
std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  std::istringstream text(read_file(path));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST(TranslationMetrics, EqualSacreBleuOnCorpora) {
  REGARD_NEEDS_SHARED();
  const Json goldens = read_json(folder() / "scores.json");
  ASSERT_EQ(goldens["sets"].size(), 9u);
  for (const auto& [name, set] : goldens["sets"].items()) {
    const std::vector<std::string> hypotheses = lines_of(folder() / (name + ".hyp"));
    testing::References references;
    for (int r = 0; r < set["references"].get<int>(); ++r)
      references.push_back(lines_of(folder() / (name + ".ref" + std::to_string(r))));
    testing::expect_metrics(name, set, hypotheses, references);
    BleuOptions sentence;
    sentence.effective_order = true;
    for (std::size_t i = 0; i < set["sentences"].size(); ++i) {
      std::vector<std::string> line;
      for (const auto& lines : references) line.push_back(lines[i]);
      const Json& expected = set["sentences"][i];
      const std::string label = name + " " + std::to_string(i);
      EXPECT_NEAR(sentence_bleu(hypotheses[i], line, sentence).score,
                  expected["bleu_effective_order"].get<double>(), 1e-9)
          << label;
      EXPECT_NEAR(sentence_chrf(hypotheses[i], line), expected["chrf2"].get<double>(), 1e-9) << label;
      EXPECT_NEAR(sentence_ter(hypotheses[i], line).score, expected["ter"].get<double>(), 1e-9) << label;
    }
  }
}

TEST(MetricTokenizers, EqualSacreBleus) {
  REGARD_NEEDS_SHARED();
  const Json goldens = read_json(folder() / "tokenized.json");
  ASSERT_GT(goldens.size(), 100u);
  for (const Json& one : goldens)
    for (const char* name : {"13a", "intl", "char", "zh"})
      EXPECT_EQ(utf8::encode(tokenize_for_metric(utf8::code_points(one["text"].get<std::string>()),
                                                 metric_tokenizer_named(name))),
                one[name].get<std::string>())
          << name;
}

}  // namespace
}  // namespace regard::metrics
