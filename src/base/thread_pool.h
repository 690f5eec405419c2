// Workers for loops cut finer than there are threads. Results never depend on how many there are: a body
// writes only what its task owns. They spin a while, then sleep; those that others crowd rest (crowding.h).
//
// Threads: every function may be called from any thread. After fork() a pool of the child has no workers: it
// has size 1 and runs on the calling thread, whatever other threads did in it at the time of the fork.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>

namespace regard {

class ThreadPool {
 public:
  // Starts a thread that does `work`, or throws.
  using Start = std::thread (*)(std::function<void()> work);

  // threads = 0: as many as the machine has physical cores, no more than affinity and the cgroup's quota
  // allow. The calling thread is worker 0 and works too, so a pool of one starts no thread. Where the system
  // refuses a thread (a limit of processes, no memory), the pool has those that were started before it.
  explicit ThreadPool(int threads = 0, Start start = nullptr);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const noexcept;
  const std::string& warning() const noexcept;  // not empty: the system refused threads

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

  // Inside a body: returns when ready() holds, by what other tasks of this loop do. Throws where one of them
  // has thrown: what is waited for may then never come. (parallel_for rethrows that task's exception.)
  template <class Ready>
  void wait_until(const Ready& ready) const {
    while (!ready()) wait_or_give_up();
  }

  // Holds back the loops of other outside threads while the result lives, so that scratch keeps its content
  // over several loops of this one. Inside a body there is nobody to hold back, and it does nothing.
  [[nodiscard]] std::unique_lock<std::recursive_mutex> take_turn();

  // The calling thread's index inside a body, else 0: whose scratch it may use.
  int current_worker() const noexcept;

  // Scratch of at least `bytes`, aligned to 64, owned by `worker` and kept between loops; its content is
  // undefined at every call. Grows only, so a steady step allocates nothing. A body that needs several
  // regions asks once for their sum. Outside of a body the caller must hold the turn, and may then ask for
  // any worker. Throws std::bad_alloc.
  std::byte* scratch(int worker, std::size_t bytes);
  void reserve_scratch(std::size_t bytes);  // of every worker, so that no task allocates; as scratch()

 private:
  using Call = void (*)(void* context, std::int64_t task, int worker);
  void run(std::int64_t tasks, Call call, void* context);
  void wait_or_give_up() const;
  void go_on_alone();  // in the child of a fork()
  struct State;
  struct Pools;
  std::unique_ptr<State> state_;
  std::string warning_;
  ThreadPool *previous_ = nullptr, *next_ = nullptr;  // of all pools of the process
};

// Physical cores that this process may use: affinity and cgroup quota honoured, at least 1.
int usable_cores();

}  // namespace regard
