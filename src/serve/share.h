// Division of a number of places (threads, or rows of a batch) among clients by dynamic thresholds (Choudhury
// and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). A client may take a place if it has fewer
// places than its limit, and fewer than three times the number of free places. The total number of places is
// a third larger than this limit. One client alone can therefore reach its limit, and places remain free for
// another client. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace regard::serve {

class Share {
 public:
  // `each` is the maximum number of places of one client, at least 1. `all` is the total number of places.
  Share(std::int64_t each, std::int64_t all) : each_(each), all_(all) {}
  explicit Share(std::int64_t each) : Share(each, places_for(each)) {}

  // Return the total number of places that is needed so that one client alone can take `each` places.
  static std::int64_t places_for(std::int64_t each) { return each + std::max<std::int64_t>(1, each / 3); }

  // Return true if the client's limits allow it `count` more places, regardless of whether they are free. The
  // first request of a client is allowed regardless of its size.
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
  // number of places by client; clients without places are removed
  std::map<std::string, std::int64_t, std::less<>> by_client_;
};

}  // namespace regard::serve
