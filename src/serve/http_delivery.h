// Progress of sending one response, shared by the server's thread and the handler's thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace regard::serve {

// The object must be owned by a std::shared_ptr.
struct Delivery : std::enable_shared_from_this<Delivery> {
  std::mutex guard;
  std::condition_variable changed;
  std::size_t unsent = 0;  // bytes passed to send() or write() that the system has not accepted yet
  bool gone = false;
  // callbacks of HttpExchange::when_gone(), numbered in the order of the calls
  std::map<std::uint64_t, std::function<void()>> when_gone;
  std::uint64_t next_callback = 0;
  std::atomic<int> status{0};
  std::atomic<std::uint64_t> bytes{0};

  void add(std::size_t count) {
    const std::lock_guard lock(guard);
    unsent += count;
  }
  // Set the status of the response and return true. Return false if the client has disconnected.
  bool begin(int of_response) {
    const std::lock_guard lock(guard);
    if (!gone) status = of_response;
    return !gone;
  }
  bool is_gone() {
    const std::lock_guard lock(guard);
    return gone;
  }
  // See HttpExchange::when_gone.
  std::shared_ptr<const void> call_when_gone(std::function<void()> callback) {
    {
      const std::lock_guard lock(guard);
      if (!gone) {
        const std::uint64_t id = next_callback++;
        when_gone.emplace(id, std::move(callback));
        return {this, [self = shared_from_this(), id](const void*) { self->forget(id); }};
      }
    }
    callback();
    return nullptr;
  }
  void forget(std::uint64_t id) {
    const std::lock_guard lock(guard);
    when_gone.erase(id);
  }
  // Wait until fewer than `most` bytes are unsent, then add `count`. Return false if the client has
  // disconnected.
  bool add_when_room(std::size_t count, std::size_t most) {
    std::unique_lock lock(guard);
    changed.wait(lock, [&] { return gone || unsent < most; });
    if (!gone) unsent += count;
    return !gone;
  }
  // Wait until at most `most` bytes are unsent or the client has disconnected. Return false at `deadline`.
  bool wait_until_sent(std::size_t most, std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(guard);
    return changed.wait_until(lock, deadline, [&] { return gone || unsent <= most; });
  }

  void sent(std::size_t count) {
    const std::lock_guard lock(guard);
    unsent -= std::min(unsent, count);
    changed.notify_all();
  }
  void leave() {
    std::map<std::uint64_t, std::function<void()>> callbacks;
    {
      const std::lock_guard lock(guard);
      if (gone) return;
      gone = true;
      callbacks.swap(when_gone);
      changed.notify_all();
    }
    for (const auto& [id, callback] : callbacks) callback();
  }
};

}  // namespace regard::serve
