// Threads for handlers, which may block. A thread is started when a request needs one, up to `most` threads;
// further requests wait.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/fair_queue.h"

namespace regard::serve {

class HandlerThreads {
 public:
  // `queue`: maximum number of waiting tasks.
  HandlerThreads(std::size_t most, std::size_t queue) : most_(most), queue_(queue) {}
  ~HandlerThreads();  // discards the waiting tasks and waits for the running ones
  HandlerThreads(const HandlerThreads&) = delete;
  HandlerThreads& operator=(const HandlerThreads&) = delete;

  // Add a task. Waiting tasks are taken from the clients in turn. Returns false if the queue is full. Tasks
  // must not throw.
  bool submit(const std::string& client, std::function<void()> task);
  std::size_t waiting() const;

 private:
  bool start_thread();
  void run();

  std::size_t most_, queue_;
  mutable std::mutex guard_;
  std::condition_variable changed_;
  FairQueue<std::function<void()>> tasks_;
  std::size_t idle_ = 0;  // threads without a task, including those that are starting
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace regard::serve
