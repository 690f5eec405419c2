// A transport between threads of one process, so that several ranks are tested without MPI. Messages are
// copied when posted and delivered in order; a rank can be silenced to simulate a broken network.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "distributed/ranks.h"
#include "regard/error.h"
#include "support/namespaces.h"

namespace regard::testing {

class ThreadNetwork {
 public:
  explicit ThreadNetwork(int size)
      : size_(size),
        queues_(static_cast<std::size_t>(kChannels * size * size)),
        sent_(static_cast<std::size_t>(size)) {}
  int size() const { return size_; }
  // Return the number of messages that `rank` has sent so far.
  std::int64_t sent(int rank) {
    const std::lock_guard lock(mutex_);
    return sent_[static_cast<std::size_t>(rank)];
  }
  // Discard the messages of `rank` from number `from_message` on.
  void silence(int rank, std::int64_t from_message) {
    silent_rank_ = rank;
    silent_from_ = from_message;
  }

 private:
  friend class ThreadTransport;
  static constexpr int kChannels = 3;
  // Return the queue from one rank to another.
  std::deque<std::vector<std::byte>>& queue(int from, int to, distributed::Channel channel) {
    return queues_[static_cast<std::size_t>((static_cast<int>(channel) * size_ + from) * size_ + to)];
  }
  int size_;
  int silent_rank_ = -1;
  std::int64_t silent_from_ = 0;
  std::mutex mutex_;
  std::vector<std::deque<std::vector<std::byte>>> queues_;
  std::vector<std::int64_t> sent_;
};

class ThreadTransport : public distributed::Transport {
 public:
  ThreadTransport(ThreadNetwork& network, int rank) : network_(network), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return network_.size(); }
  int local_size() const override { return network_.size(); }
  bool send(int to, const std::byte* data, std::size_t bytes, int id, distributed::Channel channel) override {
    const std::lock_guard lock(network_.mutex_);
    std::int64_t& sent = network_.sent_[static_cast<std::size_t>(rank_)];
    if (rank_ != network_.silent_rank_ || sent < network_.silent_from_)
      network_.queue(rank_, to, channel).emplace_back(data, data + bytes);
    ++sent;
    done_.push_back(id);
    return true;
  }
  bool receive(int from, std::byte* data, std::size_t bytes, int id, distributed::Channel channel) override {
    awaited_.push_back({from, data, bytes, id, channel});
    return true;
  }
  bool completed(std::vector<int>& ids) override {
    const std::lock_guard lock(network_.mutex_);
    ids.insert(ids.end(), done_.begin(), done_.end());
    done_.clear();
    std::vector<bool> blocked(static_cast<std::size_t>(ThreadNetwork::kChannels * size()));
    std::erase_if(awaited_, [&](const Awaited& message) {
      auto& queue = network_.queue(message.from, rank_, message.channel);
      const auto sender = static_cast<std::size_t>(static_cast<int>(message.channel) * size() + message.from);
      if (blocked[sender] || queue.empty()) {
        blocked[sender] = true;  // later messages of this sender must wait for this one
        return false;
      }
      if (queue.front().size() != message.bytes) {
        failure_ = "a message has another size";
        return false;
      }
      std::copy(queue.front().begin(), queue.front().end(), message.data);
      queue.pop_front();
      ids.push_back(message.id);
      return true;
    });
    return failure_.empty();
  }
  std::string failure() const override { return failure_; }
  void close() override {}
  void abort(int) override {}

 private:
  struct Awaited {
    int from;
    std::byte* data;
    std::size_t bytes;
    int id;
    distributed::Channel channel;
  };
  ThreadNetwork& network_;
  int rank_;
  std::vector<int> done_;
  std::vector<Awaited> awaited_;
  std::string failure_;
};

// Run body(ranks) on `size` ranks, each in a separate thread. Rethrows the exception of the lowest rank that
// has one, after all have ended.
inline void on_ranks(ThreadNetwork& network, const std::function<void(distributed::Ranks&)>& body,
                     double timeout = 60) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(network.size()));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < network.size(); ++rank)
    threads.emplace_back([&, rank] {
      try {
        distributed::Ranks ranks(std::make_unique<ThreadTransport>(network, rank));
        ranks.set_timeout(timeout);
        body(ranks);
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

inline void on_ranks(int size, const std::function<void(distributed::Ranks&)>& body) {
  ThreadNetwork network(size);
  on_ranks(network, body);
}

// Return the error that `body` throws. The test fails if it throws none.
inline Error error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "expected an error, found none";
  return usage_error("none");
}

}  // namespace regard::testing
