// Compare BLEU, chrF and TER with one entry of sacreBLEU's scores ("bleu", "chrf", "ter", each by option
// set).
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/ter.h"
#include "support/namespaces.h"

namespace regard::testing {

using References = std::vector<std::vector<std::string>>;

inline metrics::BleuOptions bleu_options(const Json& json) {
  metrics::BleuOptions options;
  options.tokenizer = metrics::metric_tokenizer_named(json.value("tokenize", "13a"));
  options.lowercase = json.value("lowercase", false);
  options.max_order = json.value("max_ngram_order", 4);
  const std::string smoothing = json.value("smooth_method", "exp");
  options.smoothing = smoothing == "none"    ? metrics::BleuSmoothing::none
                      : smoothing == "floor" ? metrics::BleuSmoothing::floor
                      : smoothing == "add-k" ? metrics::BleuSmoothing::add_k
                                             : metrics::BleuSmoothing::exp;
  if (json.contains("smooth_value")) options.smoothing_value = json["smooth_value"].get<double>();
  return options;
}

inline metrics::ChrfOptions chrf_options(const Json& json) {
  metrics::ChrfOptions options;
  options.character_order = json.value("char_order", 6);
  options.word_order = json.value("word_order", 0);
  options.beta = json.value("beta", 2);
  options.lowercase = json.value("lowercase", false);
  options.whitespace = json.value("whitespace", false);
  options.epsilon_smoothing = json.value("eps_smoothing", false);
  return options;
}

inline metrics::TerOptions ter_options(const Json& json) {
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
    const metrics::BleuOptions options = bleu_options(expected["options"]);
    const metrics::BleuScore found = metrics::corpus_bleu(hypotheses, references, options);
    const std::string label = name + " BLEU " + option;
    EXPECT_NEAR(found.score, expected["score"].get<double>(), kTolerance) << label;
    EXPECT_EQ(found.text(), expected["string"].get<std::string>()) << label;
    EXPECT_EQ(found.counts, expected["counts"].get<std::vector<double>>()) << label;
    EXPECT_EQ(found.totals, expected["totals"].get<std::vector<double>>()) << label;
    EXPECT_EQ(without_version(metrics::bleu_signature(options, references.size())),
              without_version(expected["signature"]))
        << label;
  }
  for (const auto& [option, expected] : scores["chrf"].items()) {
    const metrics::ChrfOptions options = chrf_options(expected["options"]);
    const std::string label = name + " chrF " + option;
    EXPECT_NEAR(metrics::corpus_chrf(hypotheses, references, options), expected["score"].get<double>(),
                kTolerance)
        << label;
    EXPECT_TRUE(expected["string"].get<std::string>().starts_with(metrics::chrf_name(options) + " = "))
        << label;
    EXPECT_EQ(without_version(metrics::chrf_signature(options, references.size())),
              without_version(expected["signature"]))
        << label;
  }
  for (const auto& [option, expected] : scores["ter"].items()) {
    const metrics::TerOptions options = ter_options(expected["options"]);
    const metrics::TerScore found = metrics::corpus_ter(hypotheses, references, options);
    const std::string label = name + " TER " + option;
    EXPECT_NEAR(found.score, expected["score"].get<double>(), kTolerance) << label;
    EXPECT_EQ(found.edits, expected["num_edits"].get<std::int64_t>()) << label;
    EXPECT_EQ(without_version(metrics::ter_signature(options, references.size())),
              without_version(expected["signature"]))
        << label;
  }
}

}  // namespace regard::testing
