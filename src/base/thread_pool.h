// Workers for loops cut finer than there are threads. Results never depend on how many there are: a body
// writes only what its task owns. They spin a while, then sleep; those that others crowd rest (crowding.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>

namespace regard {

class ThreadPool {
 public:
  // threads = 0: as many as the machine has physical cores, no more than affinity and the cgroup's quota
  // allow. The calling thread is worker 0 and works too, so a pool of one starts no thread.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const noexcept;

  // Calls body(task, worker) once for each task in [0, tasks), in any order, on any worker in [0, size()).
  // Returns when all are done. The first exception is rethrown here. Called from inside a body it runs
  // inline, as that body's worker. Allocates nothing. One loop at a time: callers from several outside
  // threads take turns.
  template <class Body>
  void parallel_for(std::int64_t tasks, Body&& body) {
    if (tasks <= 0) return;
    using Plain = std::remove_reference_t<Body>;
    run(
        tasks,
        [](void* context, std::int64_t task, int worker) { (*static_cast<Plain*>(context))(task, worker); },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

  // Holds back the loops of other outside threads while the result lives, so that scratch keeps its content
  // over several loops of this one. Inside a body there is nobody to hold back, and it does nothing.
  [[nodiscard]] std::unique_lock<std::recursive_mutex> take_turn();

  // The calling thread's index inside a body, else 0: whose scratch it may use.
  int current_worker() const noexcept;

  // Scratch of at least `bytes`, aligned to 64, owned by `worker` and kept between loops; its content is
  // undefined at every call. Grows only, so a steady step allocates nothing. A body that needs several
  // regions asks once for their sum. Between its loops, whoever holds the turn may ask for any worker.
  std::byte* scratch(int worker, std::size_t bytes);

 private:
  using Call = void (*)(void* context, std::int64_t task, int worker);
  void run(std::int64_t tasks, Call call, void* context);
  struct State;
  std::unique_ptr<State> state_;
};

// Physical cores that this process may use: affinity and cgroup quota honoured, at least 1.
int usable_cores();

}  // namespace regard
