// Compare BLEU, chrF and TER with one entry of sacreBLEU's scores ("bleu", "chrf", "ter", each by option
// set).
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "train/bleu.h"
#include "train/chrf.h"
#include "train/ter.h"

namespace regard::testing {

using References = std::vector<std::vector<std::string>>;

inline train::BleuOptions bleu_options(const Json& json) {
  train::BleuOptions options;
  options.tokenizer = train::metric_tokenizer_named(json.value("tokenize", "13a"));
  options.lowercase = json.value("lowercase", false);
  options.max_order = json.value("max_ngram_order", 4);
  const std::string smoothing = json.value("smooth_method", "exp");
  options.smoothing = smoothing == "none"    ? train::BleuSmoothing::none
                      : smoothing == "floor" ? train::BleuSmoothing::floor
                      : smoothing == "add-k" ? train::BleuSmoothing::add_k
                                             : train::BleuSmoothing::exp;
  if (json.contains("smooth_value")) options.smoothing_value = json["smooth_value"].get<double>();
  return options;
}

inline train::ChrfOptions chrf_options(const Json& json) {
  train::ChrfOptions options;
  options.character_order = json.value("char_order", 6);
  options.word_order = json.value("word_order", 0);
  options.beta = json.value("beta", 2);
  options.lowercase = json.value("lowercase", false);
  options.whitespace = json.value("whitespace", false);
  options.epsilon_smoothing = json.value("eps_smoothing", false);
  return options;
}

inline train::TerOptions ter_options(const Json& json) {
  return {json.value("normalized", false), json.value("no_punct", false), json.value("asian_support", false),
          json.value("case_sensitive", false)};
}

// Return the signature without its version, which differs from sacreBLEU's.
inline std::string without_version(const std::string& signature) {
  return signature.substr(0, signature.rfind('|'));
}

inline void expect_metrics(const std::string& name, const Json& scores,
                           const std::vector<std::string>& hypotheses, const References& references) {
  constexpr double kTolerance = 1e-9;
  for (const auto& [option, expected] : scores["bleu"].items()) {
    const train::BleuOptions options = bleu_options(expected["options"]);
    const train::BleuScore found = train::corpus_bleu(hypotheses, references, options);
    const std::string label = name + " BLEU " + option;
    EXPECT_NEAR(found.score, expected["score"].get<double>(), kTolerance) << label;
    EXPECT_EQ(found.text(), expected["string"].get<std::string>()) << label;
    EXPECT_EQ(found.counts, expected["counts"].get<std::vector<double>>()) << label;
    EXPECT_EQ(found.totals, expected["totals"].get<std::vector<double>>()) << label;
    EXPECT_EQ(without_version(train::bleu_signature(options, references.size())),
              without_version(expected["signature"]))
        << label;
  }
  for (const auto& [option, expected] : scores["chrf"].items()) {
    const train::ChrfOptions options = chrf_options(expected["options"]);
    const std::string label = name + " chrF " + option;
    EXPECT_NEAR(train::corpus_chrf(hypotheses, references, options), expected["score"].get<double>(),
                kTolerance)
        << label;
    EXPECT_TRUE(expected["string"].get<std::string>().starts_with(train::chrf_name(options) + " = "))
        << label;
    EXPECT_EQ(without_version(train::chrf_signature(options, references.size())),
              without_version(expected["signature"]))
        << label;
  }
  for (const auto& [option, expected] : scores["ter"].items()) {
    const train::TerOptions options = ter_options(expected["options"]);
    const train::TerScore found = train::corpus_ter(hypotheses, references, options);
    const std::string label = name + " TER " + option;
    EXPECT_NEAR(found.score, expected["score"].get<double>(), kTolerance) << label;
    EXPECT_EQ(found.edits, expected["num_edits"].get<std::int64_t>()) << label;
    EXPECT_EQ(without_version(train::ter_signature(options, references.size())),
              without_version(expected["signature"]))
        << label;
  }
}

}  // namespace regard::testing
