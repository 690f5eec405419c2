// Threads for handlers, which may block. Threads are started on demand. A task waits if its client uses its
// full share of the threads (share.h), or if no thread is free.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/fair_queue.h"
#include "serve/share.h"

namespace regard::serve {

class HandlerThreads {
 public:
  struct Limits {
    std::size_t threads = 1;  // maximum number of threads
    std::size_t each = 1;     // maximum number of running tasks of one client
    std::size_t queue = 0;    // maximum number of waiting tasks
    // maximum number of waiting tasks of one client
    std::size_t queue_of_each = std::numeric_limits<std::size_t>::max();
  };

  explicit HandlerThreads(const Limits& limits)
      : limits_(limits),
        running_(static_cast<std::int64_t>(limits.each), static_cast<std::int64_t>(limits.threads)) {}
  ~HandlerThreads();  // calls end()
  HandlerThreads(const HandlerThreads&) = delete;
  HandlerThreads& operator=(const HandlerThreads&) = delete;

  // Add a task, which must not throw; clients are served in turn. Returns false if the queue is full, the
  // client's share of the queue is full, no thread can be started, or this object is being destroyed. `key`
  // identifies the task for run_if_waiting().
  bool submit(const std::string& client, std::function<void()> task, const void* key = nullptr);
  // If the task with this key is still waiting, remove it from the queue and run it on the calling thread.
  void run_if_waiting(const void* key);
  std::size_t waiting() const;
  // Discard the waiting tasks, and wait until all running tasks have returned; these may call the functions
  // above until then. After end() has begun, submit() returns false.
  void end();

 private:
  struct Task {
    std::function<void()> run;
    const void* key = nullptr;
  };
  struct Begun {
    std::string client;
    Task task;
  };
  bool may_run(const std::string& client) const { return running_.allows(client) && running_.has_free(); }
  void begin_tasks();
  bool start_thread();
  void run();

  Limits limits_;
  mutable std::mutex guard_;
  std::condition_variable changed_;
  FairQueue<Task> tasks_;
  std::deque<Begun> begun_;  // tasks that count as running but have no thread yet
  Share running_;            // numbers of running tasks by client, including the tasks in begun_
  std::size_t idle_ = 0;     // threads without a task, including threads that are starting
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace regard::serve
