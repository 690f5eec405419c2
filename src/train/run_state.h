// state.json: where a run stands, beside its weights and the optimiser's moments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace regard::train {

struct RunState {
  std::int64_t step = 0;
  std::uint64_t seed = 1;      // with the step this is the whole state of the random draws
  std::string isa;             // whose bits these are
  std::uint64_t data = 0;      // fingerprint of the data
  Json position;               // of the batch source
  double seconds = 0;          // trained so far
  std::optional<double> best;  // value of the best metric so far
  std::int64_t best_step = 0;
  std::int64_t validations_since_best = 0;
  std::vector<std::int64_t> validated;  // steps of the last validations, ascending: those to average
  std::int64_t average_of = 0;  // not 0: no place to resume, the average that ended the run at this step

  Json to_json() const;
  static RunState from_json(const Json& json, const std::string& file);
};

}  // namespace regard::train
