// Counters and histograms in the text format of Prometheus (version 0.0.4).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace regard::serve {

// Histogram of durations in seconds, in the text format of Prometheus. Thread-safe.
class DurationHistogram {
 public:
  DurationHistogram();
  void add(double seconds);
  // Return the lines of the metric `name` with `labels` ("" or `model="x"`).
  std::string lines(const std::string& name, const std::string& labels) const;

 private:
  mutable std::mutex guard_;
  // number of durations in each bucket, not cumulative; the last bucket has no upper bound
  std::vector<std::uint64_t> counts_;
  double sum_ = 0.0;
};

struct ModelMetrics {
  std::atomic<std::uint64_t> prompt_tokens{0}, completion_tokens{0};
  DurationHistogram first_token, each_token;
  // number of batches computed (forward passes), and the total number of sequences in them
  std::atomic<std::uint64_t> batches{0}, batched{0};
};

class Metrics {
 public:
  void count_request(const std::string& route, int status, double seconds);
  // Return the metrics of a model. The reference is valid for the lifetime of this object.
  ModelMetrics& model(const std::string& name);

  std::atomic<std::int64_t> in_progress{0}, queued{0};
  std::atomic<std::uint64_t> refused{0};

  // Return all metrics as text. `connections` is the number of open connections. The keys of the maps are
  // model names: `waiting` is the number of waiting requests, and `running` the number of sequences in the
  // last step.
  std::string text(std::size_t connections, const std::map<std::string, std::int64_t>& waiting,
                   const std::map<std::string, std::int64_t>& running) const;

 private:
  mutable std::mutex guard_;
  std::map<std::pair<std::string, int>, std::uint64_t> requests_;
  std::map<std::string, DurationHistogram> durations_;  // durations of requests by route
  std::map<std::string, ModelMetrics> models_;
};

}  // namespace regard::serve
