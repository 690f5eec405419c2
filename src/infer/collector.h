// A listener that keeps the results of requests whose ids are 0 to count − 1.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "infer/scheduler.h"

namespace regard::infer {

class Collector : public Listener {
 public:
  explicit Collector(std::size_t count) : results(count) {}
  void finished(std::uint64_t id, std::vector<Hypothesis> hypotheses) override {
    results[static_cast<std::size_t>(id)] = std::move(hypotheses);
    ++done;
  }

  // results by request id; empty for requests that have not finished
  std::vector<std::vector<Hypothesis>> results;
  std::size_t done = 0;  // number of finished requests
};

}  // namespace regard::infer
