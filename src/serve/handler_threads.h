// Threads for handlers, which may block. A thread is started when a request needs one, up to `most` threads;
// further requests wait.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/fair_queue.h"

namespace regard::serve {

class HandlerThreads {
 public:
  // Limits of each client.
  struct Share {
    std::size_t running = std::numeric_limits<std::size_t>::max();  // tasks at once
    std::size_t waiting = std::numeric_limits<std::size_t>::max();
  };

  // `queue`: maximum number of waiting tasks.
  HandlerThreads(std::size_t most, std::size_t queue) : HandlerThreads(most, queue, Share()) {}
  HandlerThreads(std::size_t most, std::size_t queue, Share share)
      : most_(most), queue_(queue), share_(share) {}
  ~HandlerThreads();  // drops the waiting tasks and waits for the others
  HandlerThreads(const HandlerThreads&) = delete;
  HandlerThreads& operator=(const HandlerThreads&) = delete;

  // Add a task to the queue. Clients are served in turn. Returns false if the queue or the client's share of
  // it is full. Tasks must not throw.
  bool submit(const std::string& client, std::function<void()> task);
  std::size_t waiting() const;

 private:
  bool may_run(const std::string& client) const;
  bool start_thread();
  void run();

  std::size_t most_, queue_;
  Share share_;
  mutable std::mutex guard_;
  std::condition_variable changed_;
  FairQueue<std::function<void()>> tasks_;
  std::map<std::string, std::size_t, std::less<>> running_;  // tasks by client; none is 0
  std::size_t idle_ = 0;  // threads without a task, including threads that are starting
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace regard::serve
