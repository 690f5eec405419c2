#include "distributed/stop_vote.h"

#include <algorithm>

#include "base/clock.h"

namespace regard::distributed {

// Ids of notices: kFirstNotice + rank of the sender for a received notice; kFirstNotice + number of ranks +
// rank of the receiver for a sent notice.
StopVote::StopVote(Ranks& ranks) : ranks_(ranks) {
  if (ranks_.alone()) return;
  const auto size = static_cast<std::size_t>(ranks_.size());
  heard_.resize(size), has_.resize(size);
  ranks_.vote_ = this;
  for (int other = 0; other < ranks_.size(); ++other) {
    if (other == ranks_.rank()) continue;
    std::byte* to = &heard_[static_cast<std::size_t>(other)];
    if (!ranks_.transport_->receive(other, to, 1, kFirstNotice + other, Channel::notices)) ranks_.fail();
    ++pending_;
  }
}

StopVote::~StopVote() {
  if (ranks_.vote_ == this) ranks_.vote_ = nullptr;
}

void StopVote::tell(bool stop) {
  if (told_) return;
  told_ = true;
  own_ = std::byte{stop};
  for (int other = 0; other < ranks_.size(); ++other) {
    if (other == ranks_.rank()) continue;
    if (!ranks_.transport_->send(other, &own_, 1, kFirstNotice + ranks_.size() + other, Channel::notices))
      ranks_.fail();
    ++pending_;
  }
}

void StopVote::completed(int id) {
  --pending_;
  const auto rank = static_cast<std::size_t>(id - kFirstNotice);
  if (rank >= heard_.size()) return;  // `id` belongs to a sent notice
  has_[rank] = true;
  stop_ = stop_ || heard_[rank] == std::byte{1};
}

bool StopVote::stopped(bool here) {
  stop_ = stop_ || here;
  if (ranks_.alone()) return stop_;
  if (here) tell(true);
  ranks_.progress();
  return stop_;
}

bool StopVote::finish(bool here) {
  stop_ = stop_ || here;
  if (ranks_.alone()) return stop_;
  tell(here);
  Stopwatch since_progress;
  for (int pauses = 0; pending_ > 0;) {
    if (ranks_.progress()) {
      since_progress.restart();
      pauses = 0;
    } else {
      if (since_progress.seconds() > ranks_.timeout_) {
        std::vector<int> silent;
        for (int other = 0; other < ranks_.size(); ++other)
          if (other != ranks_.rank() && !has_[static_cast<std::size_t>(other)]) silent.push_back(other);
        ranks_.give_up(silent);
      }
      Ranks::pause(pauses++);
    }
  }
  ranks_.vote_ = nullptr;
  return stop_;
}

}  // namespace regard::distributed
