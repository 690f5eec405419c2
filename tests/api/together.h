// Call public entry points from several threads at once. Each must return the same bits as a call that runs
// alone.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include "regard/regard.h"
#include "support/namespaces.h"

namespace regard::testing {

constexpr int kThreads = 4;

// Run work(0) to work(3) on four threads that start together. An exception fails the test.
inline void on_four_threads(const std::function<void(int thread)>& work) {
  std::barrier start(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] {
      start.arrive_and_wait();
      try {
        work(thread);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "thread " << thread << ": " << error.what();
      }
    });
  for (std::thread& each : threads) each.join();
}

// Results serialised to bytes, for comparison bit by bit.
class Bits {
 public:
  Bits& add(const Tensor& tensor) {
    text_ += tensor.shape().text();
    const Tensor whole = tensor.contiguous() ? tensor : tensor.clone();
    text_.append(static_cast<const char*>(whole.data()), whole.bytes());
    return *this;
  }
  Bits& add(std::string_view text) {
    text_.append(text).push_back('\0');
    return *this;
  }
  template <class Number>
    requires std::is_arithmetic_v<Number>
  Bits& add(Number number) {
    text_.append(reinterpret_cast<const char*>(&number), sizeof number);
    return *this;
  }
  template <class Each>
  Bits& add(const std::vector<Each>& all) {
    for (const Each& each : all) add(each);
    return *this;
  }
  Bits& add(const Written& written) {
    return add(written.text).add(written.score).add(written.tokens).add(written.log_probabilities);
  }
  Bits& add(const Label& label) { return add(label.name).add(label.score); }
  Bits& add(const Tag& tag) {
    return add(tag.label).add(tag.score).add(tag.word).add(tag.begin).add(tag.end);
  }
  Bits& add(const Answer& answer) { return add(answer.text).add(answer.score).add(answer.begin); }
  Bits& add(const Filling& filling) { return add(filling.token).add(filling.score).add(filling.sequence); }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// An entry point. `call` makes one call and returns the bits of its result; `thread` is −1 for the call that
// runs alone.
struct Entry {
  std::string name;
  std::function<Bits(int thread)> call;
};

// Call every entry alone, then all entries from four threads at once, and compare the bits. Each thread
// starts at a different entry.
inline void expect_bits_of_each_alone(const std::vector<Entry>& entries, int rounds) {
  std::vector<std::string> alone;
  for (const Entry& entry : entries) alone.push_back(entry.call(-1).text());
  std::vector<std::atomic<int>> wrong(entries.size());
  on_four_threads([&](int thread) {
    for (int round = 0; round < rounds; ++round)
      for (std::size_t i = 0; i < entries.size(); ++i) {
        const std::size_t at = (i + static_cast<std::size_t>(thread)) % entries.size();
        if (entries[at].call(thread).text() != alone[at]) ++wrong[at];
      }
  });
  for (std::size_t i = 0; i < entries.size(); ++i)
    EXPECT_EQ(wrong[i], 0) << entries[i].name << " of " << kThreads * rounds << " calls";
}

// Set the number of threads of the library; the destructor restores the default.
struct ThreadsDuring {
  explicit ThreadsDuring(int count) { set_threads(count); }
  ~ThreadsDuring() { set_threads(0); }
};

// Parameters: number of threads in the pool; whether the threads of the test share one object.
class ObjectsTogether : public ::testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  bool shared() const { return std::get<1>(GetParam()); }

  // The first object is for the calls that run alone; the threads use the others. No call has used them
  // before, so a model's lazy initialisation (position tables, for example) runs while all threads use the
  // model.
  template <class Object>
  struct Set {
    std::vector<std::unique_ptr<Object>> objects;
    const Object& of(int thread) const {
      return *objects[std::min(objects.size() - 1, static_cast<std::size_t>(thread + 1))];
    }
  };
  template <class Make>
  auto objects(const Make& make) const {
    using Object = std::decay_t<decltype(make())>;
    auto set = std::make_shared<Set<Object>>();
    for (int i = 0; i < (shared() ? 2 : kThreads + 1); ++i)
      set->objects.push_back(std::make_unique<Object>(make()));
    return set;
  }

 private:
  ThreadsDuring threads_{std::get<0>(GetParam())};
};

}  // namespace regard::testing
