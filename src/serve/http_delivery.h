// The progress of one response. Shared by the server's thread and the handler's.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace regard::serve {

struct Delivery {
  std::mutex guard;
  std::condition_variable changed;
  std::size_t unsent = 0;  // bytes passed to write() that the system has not accepted yet
  bool gone = false;
  std::vector<std::function<void()>> when_gone;
  std::atomic<int> status{0};
  std::atomic<std::uint64_t> bytes{0};

  void sent(std::size_t count) {
    const std::lock_guard lock(guard);
    unsent -= std::min(unsent, count);
    changed.notify_all();
  }
  void leave() {
    std::vector<std::function<void()>> callbacks;
    {
      const std::lock_guard lock(guard);
      if (gone) return;
      gone = true;
      callbacks.swap(when_gone);
      changed.notify_all();
    }
    for (const auto& callback : callbacks) callback();
  }
};

}  // namespace regard::serve
