// The labels of a run: names, ids and weights.
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
  // `names` are the labels in the order of their ids, without duplicates
  explicit LabelSet(std::vector<std::string> names);

  const std::vector<std::string>& names() const { return names_; }
  std::size_t size() const { return names_.size(); }
  const std::string& operator[](std::int32_t id) const { return names_[static_cast<std::size_t>(id)]; }
  // Return the id of a label; `given` is true if the run file lists the labels. Throws bad_file with the file
  // and line of `place` if the label is unknown; the message contains the nearest label.
  std::int32_t id_of(const std::string& label, const Place& place, bool given) const;

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::int32_t> ids_;
};

// Throws usage if a name is empty or given twice, or if both names and weights are given and their numbers
// differ.
void check_labels(const LabelConfig& config);

// Return the labels of the run file, or the labels of the data if the run file has none. Throws bad_file with
// the name `file` if there are fewer than `least` labels.
LabelSet choose_labels(const LabelConfig& config, std::vector<std::string> in_data, std::size_t least,
                       const std::string& file);
// Return `folder`, the labels of the model folder, if it contains all of `labels` and the run file lists no
// labels. Otherwise return `labels`.
LabelSet ordered_as(const LabelSet& labels, const LabelConfig& config,
                    const std::vector<std::string>& folder);

// Return the loss weight of each label, by id; empty if all are 1. `counts` is the number of training
// examples of each label, by id. Append these counts to `notes`, and a warning for each label without
// examples. Throws usage if the number of values in labels.weights is wrong.
std::vector<float> label_weights(const LabelConfig& config, const LabelSet& labels,
                                 std::span<const std::int64_t> counts, std::vector<std::string>& notes);

}  // namespace regard::train
