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

void HandlerThreads::run() {
  std::unique_lock lock(guard_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
    --idle_;
    if (tasks_.empty()) return;  // stopping
    std::function<void()> task = tasks_.pop();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
    ++idle_;
  }
}

}  // namespace regard::serve
