// Thread pool for loops with more tasks than threads: idle workers spin briefly, then sleep, and workers are
// parked under oversubscription (oversubscription_monitor.h). Results do not depend on the number of threads,
// because a body writes only data owned by its task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>

#include "base/namespaces.h"

namespace regard::base {

// Every function may be called from any thread. After fork(), even if other threads were using the pool, a
// pool in the child has size 1 and runs on the calling thread.
class ThreadPool {
 public:
  // A function that starts a thread which runs `work`. It throws if the system refuses the thread.
  using Start = std::thread (*)(std::function<void()> work);

  // `threads` = 0 selects usable_cores(); the calling thread is worker 0, so a pool of size 1 starts no
  // thread. If the system refuses a thread (process limit, no memory), the pool consists of the threads
  // already started, and warning() is set.
  explicit ThreadPool(int threads = 0, Start start = nullptr);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const noexcept;
  const std::string& warning() const noexcept;  // message if the system refused threads, otherwise empty

  // Call body(task, worker) once for each task in [0, tasks), in any order, on any worker in [0, size()), and
  // return when all tasks are done. A call inside a body runs all its tasks inline with the worker index of
  // that body; loops of several threads outside the pool are serialised. Rethrows the first exception of a
  // body, after which no further tasks start.
  template <class Body>
  void parallel_for(std::int64_t tasks, Body&& body) {
    if (tasks <= 0) return;
    using Plain = std::remove_reference_t<Body>;
    Plain* called = &body;
    // Pass a function pointer and a context instead of a std::function, which might allocate memory.
    run(
        tasks,
        [](void* context, std::int64_t task, int worker) { (**static_cast<Plain**>(context))(task, worker); },
        &called);
  }

  // Wait until other tasks of this loop make ready() return true. Call only inside a body. Throws if another
  // task has thrown, because ready() may then never return true; parallel_for rethrows that task's exception.
  template <class Ready>
  void wait_until(const Ready& ready) const {
    while (!ready()) wait_or_give_up();
  }

  // Return a lock that makes loops of other threads outside the pool wait, so that scratch memory keeps its
  // content over several loops of the calling thread. Inside a body, returns an empty lock.
  [[nodiscard]] std::unique_lock<std::recursive_mutex> take_turn();

  // Return the worker index of the calling thread inside a body, otherwise 0. The thread may use the scratch
  // memory of that worker.
  int current_worker() const noexcept;

  // Return the scratch memory of `worker`: at least `bytes`, aligned to 64 bytes. Each call makes the content
  // undefined, so request all needed regions in one call. Outside of a body, any worker is allowed, but the
  // caller must hold the lock of take_turn(). The memory is kept between loops and only grows. Throws
  // resource_exhausted.
  std::byte* scratch(int worker, std::size_t bytes);
  // call scratch() for every worker, so that no task allocates memory
  void reserve_scratch(std::size_t bytes);

 private:
  using Call = void (*)(void* context, std::int64_t task, int worker);
  void run(std::int64_t tasks, Call call, void* context);
  void wait_or_give_up() const;
  void go_on_alone();  // replace the state by one without workers, in the child of a fork()
  struct State;
  struct Pools;
  std::unique_ptr<State> state_;
  std::string warning_;
  ThreadPool *previous_ = nullptr, *next_ = nullptr;  // links of the list of all pools of the process
};

// Return the number of physical cores that this process may use under its affinity mask and cgroup quota, at
// least 1.
int usable_cores();

}  // namespace regard::base
