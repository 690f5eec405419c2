// The suffix of the signatures of BLEU, chrF and TER.
#pragma once

namespace regard::metrics {

// The version of sacreBLEU with which the tests compare. "+regard" states that regard computed the score.
constexpr const char* kMetricVersion = "version:2.6.0+regard";

}  // namespace regard::metrics
