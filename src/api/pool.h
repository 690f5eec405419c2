// The thread pool of the public functions.
#pragma once

#include <memory>

#include "base/thread_pool.h"

namespace regard::api {

// Return the current pool. Keep the pointer while using the pool: set_threads() may replace the pool at any
// time.
std::shared_ptr<ThreadPool> pool();

}  // namespace regard::api
