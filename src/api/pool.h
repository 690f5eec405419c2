// The pool behind the public functions.
#pragma once

#include <memory>

#include "base/thread_pool.h"

namespace regard::api {

// Keep the pointer while using the pool: set_threads() may replace it at any time.
std::shared_ptr<ThreadPool> pool();

}  // namespace regard::api
