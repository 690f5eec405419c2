#include "serve/handler_threads.h"

#include <system_error>
#include <utility>

namespace regard::serve {

HandlerThreads::~HandlerThreads() {
  {
    const std::lock_guard lock(guard_);
    stopping_ = true;
    tasks_.remove_if([](const auto&) { return true; });
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

// Returns false if there is no thread at all. If there is one, the task waits for it.
bool HandlerThreads::start_thread() {
  try {
    threads_.emplace_back([this] { run(); });
    ++idle_;
  } catch (const std::system_error&) {
    return !threads_.empty();
  }
  return true;
}

bool HandlerThreads::submit(const std::string& client, std::function<void()> task) {
  const std::lock_guard lock(guard_);
  if (stopping_) return false;
  const std::size_t waiting = tasks_.size(client);
  if (waiting > share_.waiting || (waiting == share_.waiting && !may_run(client))) return false;
  if (tasks_.size() >= idle_) {  // no thread is free
    if (threads_.size() >= most_ && tasks_.size() >= idle_ + queue_) return false;
    if (threads_.size() < most_ && !start_thread()) return false;
  }
  tasks_.push(client, std::move(task));
  changed_.notify_one();
  return true;
}

std::size_t HandlerThreads::waiting() const {
  const std::lock_guard lock(guard_);
  return tasks_.size();
}

bool HandlerThreads::may_run(const std::string& client) const {
  const auto found = running_.find(client);
  return found == running_.end() || found->second < share_.running;
}

void HandlerThreads::run() {
  const auto may = [this](const std::string& client) { return may_run(client); };
  std::unique_lock lock(guard_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || tasks_.has_of(may); });
    --idle_;
    std::function<void()> task;
    std::string client;
    if (!tasks_.pop_of(may, task, client)) return;  // stopping
    ++running_[client];
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
    ++idle_;
    if (--running_[client] == 0) running_.erase(client);
    // The end of a task may allow another task of the same client. This thread then runs it, because threads
    // that found no allowed task do not look again.
  }
}

}  // namespace regard::serve
