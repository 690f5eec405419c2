// Search options given by a user: on the command line, or in a request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "infer/search.h"

namespace regard::infer {

// An option without a value keeps the value of the model folder.
struct SearchOverrides {
  std::optional<std::int64_t> beam, n_best, max_new, min_new, top_k, no_repeat_ngram;
  std::optional<double> length_penalty, repetition_penalty, temperature, top_p, min_p, typical_p;
  std::optional<std::string> early_stopping;  // rule that ends a beam search: no, yes or never
  bool sample = false;

  // Return the options `folder`, overridden by the values of this object. An option of sampling selects
  // sampling; without one, `beam` selects search even if the folder selects sampling. Throws usage if an
  // option is invalid, and for sampling with a beam above 1.
  SearchOptions over(SearchOptions folder, std::uint64_t seed) const;

  // Call visit(name, member) for each member; `self` is a SearchOverrides. The names are those used in
  // requests.
  template <class Self, class Visit>
  static void for_each(Self& self, const Visit& visit) {
    visit("beam", self.beam), visit("n_best", self.n_best), visit("max_new", self.max_new);
    visit("min_new", self.min_new), visit("top_k", self.top_k);
    visit("no_repeat_ngram", self.no_repeat_ngram), visit("length_penalty", self.length_penalty);
    visit("repetition_penalty", self.repetition_penalty), visit("temperature", self.temperature);
    visit("top_p", self.top_p), visit("min_p", self.min_p), visit("typical_p", self.typical_p);
    visit("early_stopping", self.early_stopping), visit("sample", self.sample);
  }
};

}  // namespace regard::infer
