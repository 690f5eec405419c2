// Weight type selected by `--quantize`.
#pragma once

#include "cli/verb.h"
#include "models/weights.h"

namespace regard::cli {

inline Keep kept(const Globals& globals) {
  return globals.int8 ? Keep::int8 : Keep::stored;
}

}  // namespace regard::cli
