// The locks that a model holds during a pass.
#pragma once

#include <mutex>

#include "base/namespaces.h"
#include "ops/tape.h"

namespace regard::models {

// Locks the model's mutex, because a pass may replace position tables and packed weights. Also locks the
// thread pool, so that the kernels need not lock it.
struct PassLocks {
  PassLocks(std::mutex& model, Tape& tape) : own(model), pool(tape.pool().take_turn()) {}
  std::lock_guard<std::mutex> own;
  std::unique_lock<std::recursive_mutex> pool;
};

}  // namespace regard::models
