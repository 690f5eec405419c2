#include "distributed/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "base/clock.h"
#include "distributed/stop_vote.h"
#include "regard/error.h"

namespace regard::distributed {
namespace {

// Limits of the pauses between polls while no message arrives. A waiting rank first yields its core kSwitches
// times, and then sleeps for up to kLongestPause microseconds, so that it does not occupy the core of another
// rank.
constexpr int kSwitches = 200, kLongestPause = 200;

}  // namespace

void Ranks::pause(int times) {
  if (times < kSwitches)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(std::chrono::microseconds(std::min(kLongestPause, times - kSwitches + 1)));
}

Ranks& Ranks::one() {
  static Ranks alone;
  return alone;
}

void Ranks::gather_bytes(std::span<const std::byte> mine, std::span<std::byte> all) {
  if (mine.empty()) return;
  std::memcpy(all.data() + static_cast<std::size_t>(rank()) * mine.size(), mine.data(), mine.size());
  if (alone()) return;
  Exchange exchange(*this);
  for (int other = 0; other < size(); ++other) {
    if (other == rank()) continue;
    exchange.receive(other, all.subspan(static_cast<std::size_t>(other) * mine.size(), mine.size()));
    exchange.send(other, mine);
  }
  exchange.wait_all();
}

std::vector<std::string> Ranks::gather(const std::string& mine) {
  const auto sizes = gather(static_cast<std::uint64_t>(mine.size()));
  std::vector<std::string> all(sizes.size());
  all[static_cast<std::size_t>(rank())] = mine;
  Exchange exchange(*this);
  for (int other = 0; other < size(); ++other) {
    if (other == rank()) continue;
    std::string& text = all[static_cast<std::size_t>(other)];
    text.resize(sizes[static_cast<std::size_t>(other)]);
    exchange.receive(other, std::as_writable_bytes(std::span(text)));
    exchange.send(other, std::as_bytes(std::span(mine)));
  }
  exchange.wait_all();
  return all;
}

void Ranks::broadcast(int root, std::span<std::byte> bytes) {
  if (alone()) return;
  Exchange exchange(*this);
  if (rank() != root) exchange.receive(root, bytes);
  for (int other = 0; rank() == root && other < size(); ++other)
    if (other != root) exchange.send(other, bytes);
  exchange.wait_all();
}

bool Ranks::any(bool value) {
  if (alone()) return value;
  const auto values = gather(static_cast<std::uint8_t>(value));
  return std::find(values.begin(), values.end(), std::uint8_t{1}) != values.end();
}

void Ranks::close() {
  if (!transport_) return;
  barrier();
  transport_->close();
  transport_.reset();
}

void Ranks::abort(int exit_code) {
  if (transport_) transport_->abort(exit_code);
}

std::size_t Exchange::post(int peer, bool received) {
  messages_.push_back({peer, received, false});
  return messages_.size() - 1;
}

std::size_t Exchange::send(int to, std::span<const std::byte> data, Channel channel) {
  for (std::size_t begin = 0; begin < data.size(); begin += kLargest) {
    const auto part = data.subspan(begin, std::min(kLargest, data.size() - begin));
    const std::size_t id = post(to, false);
    if (!ranks_.transport_->send(to, part.data(), part.size(), static_cast<int>(id), channel)) ranks_.fail();
  }
  return messages_.size() - 1;
}

std::size_t Exchange::receive(int from, std::span<std::byte> data, Channel channel) {
  for (std::size_t begin = 0; begin < data.size(); begin += kLargest) {
    const auto part = data.subspan(begin, std::min(kLargest, data.size() - begin));
    const std::size_t id = post(from, true);
    if (!ranks_.transport_->receive(from, part.data(), part.size(), static_cast<int>(id), channel))
      ranks_.fail();
  }
  return messages_.size() - 1;
}

bool Ranks::progress() {
  finished_.clear();
  if (!transport_->completed(finished_)) fail();
  for (const int id : finished_) {
    if (id < kFirstNotice)
      completed_.push_back(id);
    else if (vote_ != nullptr)
      vote_->completed(id);
  }
  return !finished_.empty();
}

bool Exchange::progress() {
  const bool any = ranks_.progress();
  for (const int id : ranks_.completed_) messages_[static_cast<std::size_t>(id)].done = true;
  ranks_.completed_.clear();
  return any;
}

bool Exchange::done(std::size_t begin, std::size_t end) const {
  const auto at = [this](std::size_t index) {
    return messages_.begin() + static_cast<std::ptrdiff_t>(index);
  };
  return std::all_of(at(begin), at(end), [](const Message& message) { return message.done; });
}

void Exchange::wait(std::size_t begin, std::size_t end) {
  Stopwatch since_progress;
  int pauses = 0;
  for (std::size_t next = begin; next < end;) {
    if (messages_[next].done) {
      ++next;
    } else if (progress()) {
      since_progress.restart();
      pauses = 0;
    } else {
      if (since_progress.seconds() > ranks_.timeout_) give_up();
      Ranks::pause(pauses++);
    }
  }
}

void Ranks::fail() const {
  throw Error(ErrorKind::io, fmt::format("rank {} of {} cannot reach the other ranks", rank(), size()))
      .found(transport_->failure())
      .remedy("Check the machines and the network, then continue from the last checkpoint with --resume");
}

void Exchange::give_up() const {
  std::vector<int> silent;
  for (const Message& message : messages_)
    if (!message.done && std::find(silent.begin(), silent.end(), message.peer) == silent.end())
      silent.push_back(message.peer);
  std::sort(silent.begin(), silent.end());
  ranks_.give_up(silent);
}

void Ranks::give_up(std::span<const int> silent) const {
  throw Error(ErrorKind::io, fmt::format("rank {} of {} has waited {:g} s for rank{} {}", rank(), size(),
                                         timeout_, silent.size() > 1 ? "s" : "", fmt::join(silent, ", ")))
      .expected("a message within 'distributed.timeout'")
      .found("none")
      .remedy("Check the machines and the network, then continue from the last checkpoint with --resume");
}

}  // namespace regard::distributed
