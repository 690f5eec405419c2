// Collects the inputs of concurrent calls into batches. One of the calling threads computes each batch;
// inputs that arrive meanwhile wait for the next batch. Clients are served in turn (FairQueue), and results
// are bit-identical regardless of what else is in the batch.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "serve/fair_queue.h"
#include "serve/http_error.h"

namespace regard::serve {

template <class Input, class Output>
class Batcher {
 public:
  // function that returns one output per input, in order
  using Work = std::function<std::vector<Output>(std::vector<Input>)>;
  using Cost = std::function<std::int64_t(const Input&)>;
  using Deadline = std::chrono::steady_clock::time_point;

  // A batch contains inputs with a total cost of at most `most`, or one input that costs more.
  Batcher(Work work, Cost cost, std::int64_t most)
      : work_(std::move(work)), cost_(std::move(cost)), most_(most) {}

  // Return the outputs of the inputs, in order. If `work` fails for one of the inputs, throws its error.
  // gone() returns true if the client has disconnected; it is called repeatedly, except while this thread
  // computes a batch. If an input is still waiting for a batch, throws HttpError 504 at the deadline, and
  // HttpError 503 when gone() returns true.
  std::vector<Output> run(std::vector<Input> inputs, const std::string& client, Deadline deadline,
                          const std::function<bool()>& gone = {}) {
    std::vector<std::shared_ptr<Item>> mine;
    for (Input& input : inputs) mine.push_back(std::make_shared<Item>(std::move(input)));
    std::unique_lock lock(guard_);
    for (const auto& item : mine) waiting_.push(client, item);
    for (const auto& item : mine)
      while (!item->done) {
        const bool left = gone && gone();
        if (left || std::chrono::steady_clock::now() >= deadline)
          give_up(mine, left, lock);
        else if (!computing_)
          lead(lock);
        else
          changed_.wait_until(lock, std::min(deadline, std::chrono::steady_clock::now() + kPoll));
      }
    std::vector<Output> outputs;
    for (const auto& item : mine) {
      if (item->error) std::rethrow_exception(item->error);
      outputs.push_back(std::move(item->output));
    }
    return outputs;
  }

  std::size_t waiting() const {
    const std::lock_guard lock(guard_);
    return waiting_.size();
  }

 private:
  static constexpr std::chrono::milliseconds kPoll{100};  // maximum interval between calls of gone() in run()

  struct Item {
    explicit Item(Input from) : input(std::move(from)) {}
    Input input;
    Output output{};
    std::exception_ptr error;
    bool done = false;
  };
  using Items = std::vector<std::shared_ptr<Item>>;

  // Compute one batch. The lock is released during the computation.
  void lead(std::unique_lock<std::mutex>& lock) {
    Items batch;
    std::int64_t cost = 0;
    while (!waiting_.empty()) {
      const std::int64_t next = cost_(waiting_.front()->input);
      if (!batch.empty() && cost + next > most_) break;
      cost += next;
      batch.push_back(waiting_.pop());
    }
    computing_ = true;
    lock.unlock();
    compute(batch);
    lock.lock();
    computing_ = false;
    for (const auto& item : batch) item->done = true;
    changed_.notify_all();
  }

  void compute(const Items& batch) {
    try {
      std::vector<Input> inputs;
      for (const auto& item : batch) inputs.push_back(item->input);
      std::vector<Output> outputs = work_(std::move(inputs));
      for (std::size_t i = 0; i < batch.size(); ++i) batch[i]->output = std::move(outputs[i]);
    } catch (...) {
      // One input may have caused the error. Compute the inputs separately, so that the others do not fail.
      if (batch.size() == 1) {
        batch[0]->error = std::current_exception();
        return;
      }
      for (const auto& item : batch) compute({item});
    }
  }

  // Remove the caller's inputs from the queue and throw HttpError. If none of them is in the queue, wait for
  // the batch in progress instead.
  void give_up(const Items& mine, bool left, std::unique_lock<std::mutex>& lock) {
    const std::unordered_set<std::shared_ptr<Item>> items(mine.begin(), mine.end());
    const std::size_t before = waiting_.size();
    waiting_.remove_if([&](const std::shared_ptr<Item>& item) { return items.contains(item); });
    if (waiting_.size() == before) return changed_.wait(lock);
    if (left) throw HttpError(503, "the client has disconnected");
    throw HttpError(504, "the request was not processed before its deadline", "timeout");
  }

  Work work_;
  Cost cost_;
  std::int64_t most_;
  mutable std::mutex guard_;
  std::condition_variable changed_;
  FairQueue<std::shared_ptr<Item>> waiting_;
  bool computing_ = false;
};

}  // namespace regard::serve
