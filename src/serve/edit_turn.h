// EditTurn: a lock for exclusive use of a model's resources, acquired in the order of the calls of begin().
// Unlike std::mutex, it may be released by any thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

namespace regard::serve {

class EditTurn {
 public:
  // Wait until this request has exclusive use. Returns false if `deadline` is reached first or given_up()
  // returns true; given_up() is called every 50 ms.
  bool begin(std::chrono::steady_clock::time_point deadline, const std::function<bool()>& given_up) {
    using namespace std::chrono_literals;
    std::unique_lock lock(guard_);
    const std::uint64_t mine = next_++;
    line_.push_back(mine);
    const auto first = [&] { return !taken_ && line_.front() == mine; };
    while (!first()) {
      if (std::chrono::steady_clock::now() >= deadline || given_up()) {
        std::erase(line_, mine);
        changed_.notify_all();  // the removed request may have been the first in the queue
        return false;
      }
      changed_.wait_for(lock, 50ms, first);
    }
    line_.pop_front();
    return taken_ = true;
  }
  void end() {
    const std::lock_guard lock(guard_);
    taken_ = false;
    changed_.notify_all();
  }
  std::size_t waiting() const {
    const std::lock_guard lock(guard_);
    return line_.size();
  }

 private:
  mutable std::mutex guard_;
  std::condition_variable changed_;
  std::deque<std::uint64_t> line_;  // ids of the waiting requests, in order
  std::uint64_t next_ = 0;
  bool taken_ = false;
};

}  // namespace regard::serve
