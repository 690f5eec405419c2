#include "serve/handler_threads.h"

#include <system_error>
#include <utility>

namespace regard::serve {

HandlerThreads::~HandlerThreads() {
  end();
}

void HandlerThreads::end() {
  {
    const std::lock_guard lock(guard_);
    stopping_ = true;
    tasks_.remove_if([](const auto&) { return true; });
  }
  changed_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

// Start a thread. Returns false if the system cannot start another one; tasks then wait for the existing
// threads.
bool HandlerThreads::start_thread() {
  try {
    threads_.emplace_back([this] { run(); });
    ++idle_;
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

bool HandlerThreads::submit(const std::string& client, std::function<void()> task, const void* key) {
  const std::lock_guard lock(guard_);
  if (stopping_) return false;
  // A task starts at once if may_run() is true (see begin_tasks()), so the limits of the queue apply only to
  // other tasks.
  if (!may_run(client) && (tasks_.size() >= limits_.queue || tasks_.size(client) >= limits_.queue_of_each))
    return false;
  if (threads_.empty() && !start_thread()) return false;
  tasks_.push(client, {std::move(task), key});
  begin_tasks();
  return true;
}

void HandlerThreads::run_if_waiting(const void* key) {
  std::function<void()> run;
  {
    const std::lock_guard lock(guard_);
    tasks_.remove_if([&](const Task& task) {
      if (task.key != key) return false;
      run = task.run;
      return true;
    });
  }
  if (run) run();
}

// Start the waiting tasks for which may_run() is true, in the order of the fair queue.
void HandlerThreads::begin_tasks() {
  const auto may = [this](const std::string& client, const auto&) { return may_run(client); };
  for (Begun next; tasks_.pop_of(may, next.task, next.client); next = Begun()) {
    running_.take(next.client);
    begun_.push_back(std::move(next));
    if (begun_.size() > idle_ && threads_.size() < limits_.threads) start_thread();
    changed_.notify_one();
  }
}

std::size_t HandlerThreads::waiting() const {
  const std::lock_guard lock(guard_);
  return tasks_.size();
}

void HandlerThreads::run() {
  std::unique_lock lock(guard_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !begun_.empty(); });
    if (begun_.empty()) return;  // no task is left and the object is being destroyed
    Begun one = std::move(begun_.front());
    begun_.pop_front();
    --idle_;
    lock.unlock();
    one.task.run();
    one.task.run = nullptr;
    lock.lock();
    ++idle_;
    running_.give_back(one.client);
    if (!stopping_) begin_tasks();
  }
}

}  // namespace regard::serve
