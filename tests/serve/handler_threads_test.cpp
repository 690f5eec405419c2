// Threads that run tasks of clients in turn.
#include "serve/handler_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/test_server.h"

namespace regard::serve {
namespace {

TEST(HandlerThreads, GiveClientsTurns) {
  std::mutex guard;
  std::string order;
  std::promise<void> go;
  {
    serve::HandlerThreads threads({.threads = 1, .each = 1, .queue = 10});
    const auto task = [&](const char* name) {
      return [&, name] {
        const std::lock_guard lock(guard);
        order += name;
      };
    };
    std::promise<void> begun;
    ASSERT_TRUE(threads.submit("a", [&] { begun.set_value(), go.get_future().wait(); }));
    begun.get_future().wait();
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(threads.submit("a", task("a")));
    ASSERT_TRUE(threads.submit("b", task("b")));
    ASSERT_TRUE(threads.submit("c", task("c")));
    EXPECT_EQ(threads.waiting(), 6u);
    go.set_value();
    while (threads.waiting() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(order, "abcaaa");  // the clients take turns; in order of arrival it would be "aaaabc"
}

// A task counts as running before a thread takes it, so the destructor must not drop it.
TEST(HandlerThreads, FinishTheRunningTasksAtTheEnd) {
  std::atomic<int> ran{0};
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(serve::HandlerThreads({.threads = 1, .each = 1, .queue = 1}).submit("a", [&] { ++ran; }));
  EXPECT_EQ(ran, 100);
}

TEST(HandlerThreads, DropTheWaitingTasksAtTheEnd) {
  std::atomic<bool> ran = false;
  {
    serve::HandlerThreads threads({.threads = 1, .each = 1, .queue = 1});
    ASSERT_TRUE(threads.submit("a", [&] {
      testing::becomes([&] { return threads.waiting() == 1; }, 2);
      testing::becomes([&] { return threads.waiting() == 0; }, 2);
    }));
    ASSERT_TRUE(threads.submit("a", [&] { ran = true; }));
  }
  EXPECT_FALSE(ran);
}

// When a server ends, its last task may still call functions of the queues.
TEST(HandlerThreads, CanBeUsedByTasksWhileTheyEnd) {
  serve::HandlerThreads threads({.threads = 1, .each = 1, .queue = 1});
  const int key = 0;
  bool waiting = true, accepted = true;
  ASSERT_TRUE(threads.submit("a", [&] {
    testing::becomes([&] { return threads.waiting() == 1; }, 2);
    testing::becomes([&] { return threads.waiting() == 0; }, 2);
    threads.run_if_waiting(&key);
    accepted = threads.submit("b", [] {});
  }));
  ASSERT_TRUE(threads.submit(
      "a", [&] { waiting = false; }, &key));
  threads.end();
  EXPECT_TRUE(waiting) << "a discarded task does not run";
  EXPECT_FALSE(accepted);
  threads.end();
  EXPECT_FALSE(threads.submit("a", [] {}));
}

TEST(HandlerThreads, RunAWaitingTaskOnTheCallersThread) {
  std::promise<void> go, begun;
  int ran = 0;
  const int first = 0, second = 0;
  {
    serve::HandlerThreads threads({.threads = 1, .each = 1, .queue = 1});
    ASSERT_TRUE(threads.submit(
        "a", [&] { begun.set_value(), go.get_future().wait(); }, &first));
    begun.get_future().wait();
    ASSERT_TRUE(threads.submit(
        "a", [&] { ++ran; }, &second));
    threads.run_if_waiting(&first);  // it already runs
    EXPECT_EQ(threads.waiting(), 1u);
    threads.run_if_waiting(&second);
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(threads.waiting(), 0u);
    EXPECT_TRUE(threads.submit("a", [] {}));  // the task that ran has left the queue
    go.set_value();
  }
  EXPECT_EQ(ran, 1);
}

TEST(HandlerThreads, GiveEachClientItsShare) {
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  std::atomic<int> of_a{0}, of_b{0};
  serve::HandlerThreads threads({.threads = 4, .each = 1, .queue = 10, .queue_of_each = 2});
  const auto wait_for = [](const std::atomic<int>& count, int wanted) {
    for (int i = 0; i < 2000 && count < wanted; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return count.load();
  };
  ASSERT_TRUE(threads.submit("a", [&] { ++of_a, gone.wait(); }));
  EXPECT_EQ(wait_for(of_a, 1), 1);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(threads.submit("a", [&] { ++of_a; }));
  EXPECT_FALSE(threads.submit("a", [&] { ++of_a; })) << "its share of the queue is full";
  EXPECT_TRUE(threads.submit("b", [&] { ++of_b; }));
  EXPECT_EQ(wait_for(of_b, 1), 1) << "another client has threads";
  EXPECT_EQ(of_a, 1) << "one at a time";
  go.set_value();
  EXPECT_EQ(wait_for(of_a, 3), 3);
}

}  // namespace
}  // namespace regard::serve
