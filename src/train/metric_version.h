// The end of the signatures of BLEU, chrF and TER.
#pragma once

namespace regard::train {

// The version of sacreBLEU that the tests compare with, and that it is not sacreBLEU itself.
constexpr const char* kMetricVersion = "version:2.6.0+regard";

}  // namespace regard::train
