#include "serve/handler_threads.h"

#include <system_error>
#include <utility>

namespace regard::serve {

HandlerThreads::~HandlerThreads() {
  {
    const std::lock_guard lock(guard_);
    stopping_ = true;
    tasks_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool HandlerThreads::submit(std::function<void()> task) {
  const std::lock_guard lock(guard_);
  if (stopping_) return false;
  if (idle_ <= tasks_.size() && threads_.size() < most_) {
    try {
      threads_.emplace_back([this] { run(); });
    } catch (const std::system_error&) {
      if (threads_.empty()) return false;  // with a thread, the task can wait for it
    }
  } else if (idle_ <= tasks_.size() && tasks_.size() >= queue_ + idle_) {
    return false;
  }
  tasks_.push_back(std::move(task));
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
    ++idle_;
    changed_.wait(lock, [&] { return stopping_ || !tasks_.empty(); });
    --idle_;
    if (tasks_.empty()) return;  // stopping
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

}  // namespace regard::serve
