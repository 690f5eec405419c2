// StopVote: ends a long computation on all ranks soon after one of them receives a stop request. Without the
// vote, that rank would wait until the other ranks have finished.
//
// Every rank constructs the vote, calls stopped() regularly during the computation, and finish() at the end;
// only one vote may exist at a time. Notices have a channel of their own (Channel::notices), so other
// exchanges are allowed during the vote.
#pragma once

#include <cstddef>
#include <vector>

#include "distributed/ranks.h"

namespace regard::distributed {

class StopVote {
 public:
  // Start the vote. Collective; does not wait. Throws io if the transport fails, as stopped() and finish()
  // do.
  explicit StopVote(Ranks& ranks);
  ~StopVote();
  StopVote(const StopVote&) = delete;

  // Return true if this rank has a stop request (`here`) or the notice of a stop request on another rank has
  // arrived. Does not wait.
  bool stopped(bool here);
  // Collective. Wait for all ranks, and return true on all of them if any has a stop request.
  bool finish(bool here);

 private:
  friend class Exchange;
  friend class Ranks;
  void tell(bool stop);
  void completed(int id);
  Ranks& ranks_;
  std::byte own_{};               // the notice that this rank sends
  std::vector<std::byte> heard_;  // the notices of all ranks
  std::vector<bool> has_;         // for each rank, true if the notice of that rank has arrived
  bool told_ = false, stop_ = false;
  std::size_t pending_ = 0;  // number of messages that have not completed
};

}  // namespace regard::distributed
