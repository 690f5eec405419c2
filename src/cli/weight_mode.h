// Weight type selected by `--quantize`.
#pragma once

#include "cli/verb.h"
#include "models/weights.h"

namespace regard::cli {

inline WeightMode weight_mode(const Globals& globals) {
  return globals.int8 ? WeightMode::int8 : WeightMode::stored;
}

}  // namespace regard::cli
