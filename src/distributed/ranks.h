// Ranks: the processes that train one model together (data parallelism), and the exchanges between them. With
// one process every exchange returns at once.
//
// A collective function must be called by all ranks in the same order. Every message is a non-blocking
// point-to-point message; the transport computes no sums, so results do not depend on its algorithms.
//
// Throws io if no message arrives for longer than the timeout, or if the transport reports a failure. No
// further exchange is possible then: the process must end all ranks with abort().
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "distributed/transport.h"

namespace regard::distributed {

class StopVote;

class Ranks {
 public:
  Ranks() = default;  // constructs the only rank of a run of one process
  explicit Ranks(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  static Ranks& one();  // returns a Ranks object of one process, shared by all callers

  int rank() const { return transport_ ? transport_->rank() : 0; }
  int size() const { return transport_ ? transport_->size() : 1; }
  // Return the number of ranks on this host.
  int local_size() const { return transport_ ? transport_->local_size() : 1; }
  bool alone() const { return size() == 1; }
  bool first() const { return rank() == 0; }

  // Set the longest time to wait without receiving any message, in seconds. Default: 300.
  void set_timeout(double seconds) { timeout_ = seconds; }
  double timeout() const { return timeout_; }

  // Collective. Return every rank's value, in order of ranks.
  std::vector<std::string> gather(const std::string& mine);
  template <class T>
  std::vector<T> gather(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all(static_cast<std::size_t>(size()));
    gather_bytes(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
    return all;
  }
  // Collective. Return rank 0's value.
  template <class T>
  T from_first(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    broadcast(0, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  // Collective. Copy `mine` of all ranks to `all`, in the order of ranks. `mine` has the same size on all
  // ranks, and `all` has size() times this size.
  void gather_bytes(std::span<const std::byte> mine, std::span<std::byte> all);
  // Collective. Copy the bytes of rank `root` to all other ranks.
  void broadcast(int root, std::span<std::byte> bytes);
  // Collective. Return true on all ranks if `value` is true on any rank.
  bool any(bool value);
  // Collective. Return after all ranks have called it.
  void barrier() { any(false); }

  // Collective. Leave the run at its normal end.
  void close();
  // End all ranks after an error.
  void abort(int exit_code);

 private:
  friend class Exchange;
  friend class StopVote;
  static void pause(int times);
  // Poll the transport without waiting: append the ids of newly completed messages, except notices, to
  // completed_. Return true if any message, including a notice, has completed since the last call.
  bool progress();
  [[noreturn]] void fail() const;
  [[noreturn]] void give_up(std::span<const int> silent) const;
  std::unique_ptr<Transport> transport_;  // transport between the processes; null if there is only one
  double timeout_ = 300.0;
  StopVote* vote_ = nullptr;    // the current stop vote; null if there is none
  std::vector<int> completed_;  // ids of the completed messages, without notices
  std::vector<int> finished_;   // buffer that progress() reuses
};

// A set of messages that are sent and received at the same time.
class Exchange {
 public:
  explicit Exchange(Ranks& ranks) : ranks_(ranks) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Maximum size of a message in bytes; longer data is split into several messages.
  static constexpr std::size_t kLargest = std::size_t{16} << 20;
  // Post a message to or from another rank and return its index. If `data` is split, return the index of the
  // last message. Empty data is not sent. `data` must stay valid and unmodified until the message has
  // completed. Messages between two ranks on a channel are matched in the order of posting.
  std::size_t send(int to, std::span<const std::byte> data, Channel channel = Channel::data);
  std::size_t receive(int from, std::span<std::byte> data, Channel channel = Channel::data);
  // Wait until messages `begin` to `end` (exclusive) have completed. The other messages also progress during
  // the wait.
  void wait(std::size_t begin, std::size_t end);
  void wait_all() { wait(0, messages_.size()); }
  // Let messages progress without waiting. Returns true if any message has completed.
  bool progress();
  // Return true if messages `begin` to `end` (exclusive) have completed.
  bool done(std::size_t begin, std::size_t end) const;
  std::size_t count() const { return messages_.size(); }

 private:
  struct Message {
    int peer;
    bool received;  // true if the message is received, false if it is sent
    bool done;
  };
  std::size_t post(int peer, bool received);
  [[noreturn]] void give_up() const;
  Ranks& ranks_;
  std::vector<Message> messages_;
};

}  // namespace regard::distributed
