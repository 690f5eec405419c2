#include "infer/search_overrides.h"

#include <algorithm>

#include "regard/error.h"

namespace regard::infer {
namespace {

EarlyStopping early_stopping_of(const std::string& name) {
  if (name == "yes") return EarlyStopping::yes;
  return name == "never" ? EarlyStopping::never : EarlyStopping::no;
}

template <class T>
void take(const std::optional<T>& given, T& value) {
  if (given) value = *given;
}

}  // namespace

SearchOptions SearchOverrides::over(SearchOptions search, std::uint64_t seed) const {
  const bool samples = sample || temperature || top_k || top_p || min_p || typical_p;
  if (samples) {
    search.sample = true;
    search.beam = 1;
  }
  if (beam) {
    search.beam = *beam;
    search.sample = samples;
    if (!samples) search.n_best = std::min(search.n_best, search.beam);
  }
  take(n_best, search.n_best);
  if (!search.sample && !beam) search.beam = std::max(search.beam, search.n_best);
  take(max_new, search.max_new);
  take(min_new, search.rules.min_new);
  take(length_penalty, search.length_penalty);
  take(repetition_penalty, search.rules.repetition_penalty);
  take(no_repeat_ngram, search.rules.no_repeat_ngram);
  take(temperature, search.temperature);
  take(top_k, search.top_k);
  take(top_p, search.top_p);
  take(min_p, search.min_p);
  take(typical_p, search.typical_p);
  if (early_stopping) search.early_stopping = early_stopping_of(*early_stopping);
  search.seed = seed;
  search.check();
  // A minimum number of new tokens above the maximum is an error only if the user gave the minimum. If the
  // folder's minimum exceeds the maximum, the maximum applies.
  if (min_new && search.max_new > 0 && search.rules.min_new > search.max_new)
    throw usage_error("--min-new exceeds --max-new")
        .found(std::to_string(search.rules.min_new))
        .expected("at most " + std::to_string(search.max_new));
  return search;
}

}  // namespace regard::infer
