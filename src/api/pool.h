// The pool behind the public functions.
#pragma once

#include "base/thread_pool.h"

namespace regard::api {

ThreadPool& pool();

}  // namespace regard::api
