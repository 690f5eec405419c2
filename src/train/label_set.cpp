#include "train/label_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/counted.h"
#include "base/nearest.h"

namespace regard::train {

LabelSet::LabelSet(std::vector<std::string> names) : names_(std::move(names)) {
  for (std::size_t i = 0; i < names_.size(); ++i) ids_[names_[i]] = static_cast<std::int32_t>(i);
}

std::int32_t LabelSet::id_of(const std::string& label, const Place& place, bool given) const {
  if (const auto found = ids_.find(label); found != ids_.end()) return found->second;
  const std::string_view near = nearest(label, names_);
  throw Error(ErrorKind::bad_file,
              given ? "the label is not among 'labels.names'" : "the label is not in the training data",
              place)
      .found("'" + label + "'")
      .expected(fmt::format("one of {}", fmt::join(names_, ", ")))
      .remedy(near.empty()
                  ? "Correct the label, or add it to 'labels.names'"
                  : fmt::format("Did you mean '{}'? Correct the label, or add it to 'labels.names'", near));
}

void check_labels(const LabelConfig& config) {
  std::vector<std::string> sorted = config.names;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    throw usage_error("'labels.names' contains a label twice")
        .found("'" + *twice + "'")
        .remedy("Remove one of the two labels");
  if (!sorted.empty() && sorted.front().empty())
    throw usage_error("'labels.names' contains an empty label").remedy("Remove the empty label");
  if (!config.weights.empty() && !config.names.empty() && config.weights.size() != config.names.size())
    throw usage_error("'labels.weights' and 'labels.names' differ in length")
        .found(counted(config.weights.size(), "weight"))
        .expected(fmt::format("{} weights, one for each label", config.names.size()));
}

LabelSet choose_labels(const LabelConfig& config, std::vector<std::string> in_data, std::size_t least,
                       const std::string& file) {
  LabelSet labels = config.names.empty() ? LabelSet(std::move(in_data)) : LabelSet(config.names);
  if (labels.size() < least)
    throw file_error(file, "the training data has too few labels")
        .found(counted(labels.size(), "label"))
        .expected(fmt::format("at least {} labels", least))
        .remedy("Check the column of the labels in 'data.columns', or list all labels in 'labels.names'");
  return labels;
}

LabelSet ordered_as(const LabelSet& labels, const LabelConfig& config,
                    const std::vector<std::string>& folder) {
  const bool has_all =
      std::all_of(labels.names().begin(), labels.names().end(), [&](const std::string& label) {
        return std::find(folder.begin(), folder.end(), label) != folder.end();
      });
  return config.names.empty() && has_all ? LabelSet(folder) : labels;
}

std::vector<float> label_weights(const LabelConfig& config, const LabelSet& labels,
                                 std::span<const std::int64_t> counts, std::vector<std::string>& notes) {
  std::string note = "training labels:";
  for (std::size_t i = 0; i < labels.size(); ++i) {
    note += fmt::format("{} {} {}", i == 0 ? "" : ",", labels.names()[i], counts[i]);
    if (counts[i] == 0)
      notes.push_back("warning: no training example has the label '" + labels.names()[i] + "'");
  }
  notes.push_back(note);
  if (!config.weights.empty() && config.weights.size() != labels.size())
    throw usage_error("the length of 'labels.weights' differs from the number of labels in the training data")
        .found(counted(config.weights.size(), "weight"))
        .expected(fmt::format("{} weights, for {}", labels.size(), fmt::join(labels.names(), ", ")));
  std::vector<float> weights(config.weights.begin(), config.weights.end());
  // If both keys are set, labels.weights takes precedence over labels.balance.
  if (!config.balance || !weights.empty()) return weights;
  const auto all = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  for (const std::int64_t count : counts)
    weights.push_back(count == 0 ? 0.0f
                                 : static_cast<float>(all / static_cast<double>(count) /
                                                      static_cast<double>(labels.size())));
  return weights;
}

}  // namespace regard::train
