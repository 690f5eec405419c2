// The labels of a run: names, ids, weights.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "regard/error.h"
#include "train/run_config.h"

namespace regard::train {

class LabelSet {
 public:
  LabelSet() = default;
  explicit LabelSet(std::vector<std::string> names);  // in the order of the ids; each once

  const std::vector<std::string>& names() const { return names_; }
  std::size_t size() const { return names_.size(); }
  const std::string& operator[](std::int32_t id) const { return names_[static_cast<std::size_t>(id)]; }
  // Throws bad_file with the place, naming the nearest label. `given`: the names are from the run file.
  std::int32_t id_of(const std::string& label, const Place& place, bool given) const;

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::int32_t> ids_;
};

// Throws usage if a name is given twice or the numbers of names and weights differ.
void check_labels(const LabelConfig& config);

// Return the labels to use: those of the run file or, if it has none, those of the data. A folder's
// classifier with all labels of the data gives their order. Throws bad_file naming `file` if there are fewer
// than `least`.
LabelSet choose_labels(const LabelConfig& config, std::vector<std::string> in_data, std::size_t least,
                       const std::string& file);
LabelSet ordered_as(const LabelSet& labels, const LabelConfig& config,
                    const std::vector<std::string>& folder);

// Return the weights of the labels; empty: 1 each. `counts`: labels in the training data by id. Appends
// their numbers, and warnings about labels without examples, to `notes`. Throws usage if labels.weights has
// another number of weights.
std::vector<float> label_weights(const LabelConfig& config, const LabelSet& labels,
                                 std::span<const std::int64_t> counts, std::vector<std::string>& notes);

}  // namespace regard::train
