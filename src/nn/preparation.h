// Options of prepare_for_inference(): the thread pool that packs the weights, and a callback for progress.
#pragma once

#include <cstdint>
#include <functional>

#include "base/namespaces.h"
#include "base/thread_pool.h"

namespace regard::nn {

struct Preparation {
  Preparation(ThreadPool& whose) : pool(&whose) {}  // not explicit, because most callers pass a pool only
  // Dry run: report each weight's size without packing it.
  explicit Preparation(std::function<void(std::int64_t)> who) : told(std::move(who)) {}

  // Call body(pool) if there is a pool, then report the weight's stored size in bytes.
  template <class Body>
  void each(std::int64_t bytes, Body&& body) const {
    if (pool != nullptr) body(*pool);
    if (told) told(bytes);
  }

  ThreadPool* pool = nullptr;
  // called with each weight's size in bytes; may be empty; if it throws, no further weights are packed
  std::function<void(std::int64_t bytes)> told;
};

}  // namespace regard::nn
