// The options of regard classify, and the output of labels.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/http_client.h"
#include "cli/task_model.h"
#include "tasks/classify.h"

namespace regard::cli {

struct ClassifyRequest {
  TaskRequest task;
  std::string labels, scores;
  std::string pattern;  // template of a label's text, in which {} is replaced with the label
  bool pair = false;
  std::size_t top = 1;
  std::optional<float> threshold;
  std::vector<std::string> files;  // image or sound files after the first
  ServerOptions server;

  std::optional<tasks::Scores> wanted_scores() const;
};

// If there are several files, or `is_input` accepts the only file, call `classify` for each file and return
// true. Otherwise return false: the only file is "-" or a list of files, one per line.
bool classify_named_files(const ClassifyRequest& request, bool (*is_input)(const std::filesystem::path&),
                          const std::function<void(const std::string&)>& classify);

// Print labels of one input, best first: those with a score of at least request.threshold if it is set,
// otherwise the first request.top (0: all). `about` contains the JSON members that describe the input.
void write_labels(const ClassifyRequest& request, Json about, std::span<const std::string> labels,
                  std::span<const float> scores, bool as_json);

}  // namespace regard::cli
