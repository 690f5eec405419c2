// How a model's weights are made ready for inference: by whom, and who is told of it.
#pragma once

#include <cstdint>
#include <functional>

#include "base/thread_pool.h"

namespace regard::nn {

struct Preparation {
  Preparation(ThreadPool& whose) : pool(&whose) {}  // not explicit: a pool alone is what most callers have
  // Nothing is done but telling, of each weight that would be made ready.
  explicit Preparation(std::function<void(std::int64_t)> who) : told(std::move(who)) {}

  // body(pool) for a weight of so many bytes as it is held.
  template <class Body>
  void each(std::int64_t bytes, Body&& body) const {
    if (pool != nullptr) body(*pool);
    if (told) told(bytes);
  }

  ThreadPool* pool = nullptr;
  std::function<void(std::int64_t bytes)> told;  // may be empty; what it throws leaves the others as they are
};

}  // namespace regard::nn
