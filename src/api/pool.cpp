#include "api/pool.h"

#include <memory>
#include <mutex>
#include <string>

#include "regard/error.h"
#include "regard/threads.h"

namespace regard {
namespace {

std::mutex guard;
std::unique_ptr<ThreadPool> shared_pool;
int wanted = 0;

}  // namespace

ThreadPool& api::pool() {
  const std::lock_guard lock(guard);
  if (!shared_pool) shared_pool = std::make_unique<ThreadPool>(wanted);
  return *shared_pool;
}

void set_threads(int threads) {
  if (threads < 0 || threads > 1024)
    throw usage_error("a thread count is 0 to 1024, not " + std::to_string(threads));
  const std::lock_guard lock(guard);
  wanted = threads;
  shared_pool.reset();
}

int threads() {
  return api::pool().size();
}

}  // namespace regard
