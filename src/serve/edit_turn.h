// Exclusive use of a model's resources by one request at a time. Unlike a mutex, it may be released by any
// thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace regard::serve {

class EditTurn {
 public:
  // Wait until no other request has exclusive use. Returns false if `deadline` is reached or given_up(),
  // which is called every 50 ms, returns true.
  bool begin(std::chrono::steady_clock::time_point deadline, const std::function<bool()>& given_up) {
    using namespace std::chrono_literals;
    std::unique_lock lock(guard_);
    while (taken_) {
      if (std::chrono::steady_clock::now() >= deadline || given_up()) return false;
      changed_.wait_for(lock, 50ms, [this] { return !taken_; });
    }
    return taken_ = true;
  }
  void end() {
    const std::lock_guard lock(guard_);
    taken_ = false;
    changed_.notify_one();
  }

 private:
  std::mutex guard_;
  std::condition_variable changed_;
  bool taken_ = false;
};

}  // namespace regard::serve
