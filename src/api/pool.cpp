#include "api/pool.h"

#include <pthread.h>

#include <memory>
#include <mutex>
#include <string>

#include "regard/error.h"
#include "regard/threads.h"

namespace regard {

using namespace models;  // namespace models exposes the names of nn, ops, tensor and base (base/namespaces.h)
namespace {

std::mutex guard;
std::shared_ptr<ThreadPool> shared_pool;
int wanted = 0;

}  // namespace

std::shared_ptr<ThreadPool> api::pool() {
  const std::lock_guard lock(guard);
  if (!shared_pool) shared_pool = std::make_shared<ThreadPool>(wanted);
  // Lock `guard` during fork(), so that the child never inherits it locked by another thread. The handlers
  // that run before a fork run in reverse order of registration, so `guard` is locked before ThreadPool's own
  // mutex, as in pool().
  static const int watched =
      pthread_atfork([] { guard.lock(); }, [] { guard.unlock(); }, [] { guard.unlock(); });
  static_cast<void>(watched);
  return shared_pool;
}

void set_threads(int threads) {
  if (threads < 0 || threads > 1024)
    throw usage_error("expected a number of threads from 0 to 1024, found " + std::to_string(threads));
  // The previous pool. It is destroyed after the mutex is released, because its destructor may join threads.
  std::shared_ptr<ThreadPool> before;
  const std::lock_guard lock(guard);
  wanted = threads;
  before = std::move(shared_pool);
}

int threads() {
  return api::pool()->size();
}

std::string thread_warning() {
  return api::pool()->warning();
}

}  // namespace regard
