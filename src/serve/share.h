// Limits the number of slots (threads, or rows of a batch) that each client uses, by dynamic thresholds
// (Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). A client may use another slot if it
// uses fewer slots than its limit, and fewer than three times the number of free slots.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace regard::serve {

// Not thread-safe.
class Share {
 public:
  // `each` is the maximum number of slots of one client, at least 1. `all` is the total number of slots.
  Share(std::int64_t each, std::int64_t all) : each_(each), all_(all) {}
  explicit Share(std::int64_t each) : Share(each, places_for(each)) {}

  // Return the total number of slots for a limit of `each` slots per client. It is larger by a third, so
  // that one client can reach its limit while slots remain free for another client.
  static std::int64_t places_for(std::int64_t each) { return each + std::max<std::int64_t>(1, each / 3); }

  // Return true if the client's limits allow `count` more slots; free slots are checked by has_free(). A
  // client that uses no slots is always allowed.
  bool allows(const std::string& client, std::int64_t count = 1) const {
    const std::int64_t own = taken_by(client);
    return own == 0 || (own + count <= each_ && own < 3 * (all_ - taken_));
  }
  bool has_free(std::int64_t count = 1) const { return taken_ == 0 || taken_ + count <= all_; }

  void take(const std::string& client, std::int64_t count = 1) {
    by_client_[client] += count, taken_ += count;
  }
  void give_back(const std::string& client, std::int64_t count = 1) {
    taken_ -= count;
    const auto found = by_client_.find(client);
    if ((found->second -= count) == 0) by_client_.erase(found);
  }

  std::int64_t all() const { return all_; }
  std::int64_t taken() const { return taken_; }
  std::int64_t taken_by(const std::string& client) const {
    const auto found = by_client_.find(client);
    return found == by_client_.end() ? 0 : found->second;
  }

 private:
  std::int64_t each_, all_, taken_ = 0;
  // number of used slots by client; clients that use none are removed
  std::map<std::string, std::int64_t, std::less<>> by_client_;
};

}  // namespace regard::serve
