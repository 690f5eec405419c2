#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/oversubscription_monitor.h"
#include "base/pages.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace regard::base {
namespace {

constexpr std::size_t kCacheLine = 64;
// Number of spins before a worker sleeps, about 20 to 50 microseconds. This is longer than the gap between
// two consecutive loops of a computation and shorter than a scheduler time slice.
constexpr int kSpins = 2000;

constexpr int kGenerationShift = 17;
constexpr std::uint64_t kOpen = 1u << 16;

// The pool whose loop this thread is running, and the worker index of the thread.
struct Inside {
  const void* state = nullptr;
  int worker = -1;
};
thread_local Inside inside;

// Thrown by wait_until() in a body if another task of the loop has thrown. The caller of the loop receives
// that other task's exception.
struct GaveUp {};

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

// Return the number of involuntary context switches of this process.
std::int64_t involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

struct Scratch {
  std::byte* data = nullptr;
  std::size_t capacity = 0;
  ~Scratch() { std::free(data); }

  void grow(std::size_t bytes) {
    if (capacity >= bytes) return;
    std::free(data);
    data = nullptr;
    capacity = 0;
    const std::size_t larger = bytes + bytes / 4;
    data = static_cast<std::byte*>(allocate_pages(larger));
    capacity = larger;
  }
};

// Return the number of physical cores in the affinity mask. Hardware threads of one core are counted once.
int cores_in_affinity() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return static_cast<int>(std::thread::hardware_concurrency());
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::ifstream siblings("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                           "/topology/thread_siblings_list");
    std::string list;
    if (!std::getline(siblings, list)) list = "cpu" + std::to_string(cpu);
    cores.insert(list);
  }
  return static_cast<int>(cores.size());
}

// Return the smallest CPU quota of this process's cgroups (v2 and v1), in whole cores (at least 1), or 0 if
// there is none.
int cores_in_quota() {
  std::ifstream self("/proc/self/cgroup");
  std::string line, folder;
  while (std::getline(self, line))
    if (line.rfind("0::", 0) == 0) folder = line.substr(3);
  double tightest = 0;
  const auto consider = [&](double quota, double period) {
    if (quota > 0 && period > 0 && (tightest == 0 || quota / period < tightest)) tightest = quota / period;
  };
  for (;; folder.erase(folder.find_last_of('/'))) {
    std::ifstream max("/sys/fs/cgroup" + folder + "/cpu.max");
    std::string quota;
    double period = 0;
    if (max >> quota >> period && quota != "max") consider(std::strtod(quota.c_str(), nullptr), period);
    if (folder.find('/') == std::string::npos) break;
  }
  std::ifstream quota_v1("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
      period_v1("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (quota_v1 >> quota && period_v1 >> period) consider(quota, period);
  return tightest == 0 ? 0 : std::max(1, static_cast<int>(tightest));
}

}  // namespace

int usable_cores() {
  const int cores = std::max(1, cores_in_affinity());
  const int quota = cores_in_quota();
  return quota > 0 ? std::min(cores, quota) : cores;
}

struct ThreadPool::State {
  explicit State(int threads)
      : size(threads), scratch(static_cast<std::size_t>(threads)), monitor(threads), active(threads) {}

  ~State() {
    stopping = true;
    announce(false);
    set_active(size);
    for (std::thread& worker : workers) worker.join();
  }

  // Start the workers. If the system refuses one, set `size` to the number started plus the caller and
  // return a warning; otherwise return an empty string.
  std::string start_workers(Start start) {
    workers.reserve(static_cast<std::size_t>(size - 1));
    try {
      for (int worker = 1; worker < size; ++worker)
        workers.push_back(start([this, worker] { worker_main(worker); }));
      return {};
    } catch (const std::exception& refused) {
      const int asked = std::exchange(size, static_cast<int>(workers.size()) + 1);
      monitor = OversubscriptionMonitor(size);
      active.store(size);
      return "the system started only " + std::to_string(size) + " of " + std::to_string(asked) +
             " threads, so only these are used (" + refused.what() + ")";
    }
  }

  int size;  // number of threads: the caller and the workers
  std::vector<std::thread> workers;
  std::vector<Scratch> scratch;
  std::atomic<std::size_t> largest_scratch{0};  // largest number of bytes requested by a worker
  std::recursive_mutex callers;                 // mutex that serialises loops

  // The current loop. Written before the generation in `gate` is incremented.
  Call call = nullptr;
  void* context = nullptr;
  std::int64_t tasks = 0;

  // monitor of oversubscription; used only by the thread that calls the loop
  OversubscriptionMonitor monitor;
  int loops = 0;  // number of loops since the monitor's last evaluation

  alignas(kCacheLine) std::atomic<std::int64_t> next{0};
  // State of the loop: generation << 17 | open << 16 | number of workers inside. Workers enter only while the
  // loop is open; the caller waits only for workers that have entered.
  alignas(kCacheLine) std::atomic<std::uint64_t> gate{0};
  std::atomic<int> sleepers{0};
  std::atomic<int> active;  // workers with this index or a higher one are parked
  std::atomic<bool> stopping{false};
  std::mutex sleep_mutex;
  std::condition_variable wake, unpark;
  std::mutex error_mutex;
  std::exception_ptr error;
  std::atomic<bool> failed{false};  // true if a task of this loop has thrown
  State* next_abandoned = nullptr;  // next state in the list Pools::abandoned

  void take_tasks(int worker) {
    const Inside before = std::exchange(inside, {this, worker});
    for (std::int64_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) {
      try {
        call(context, task, worker);
      } catch (...) {
        const std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
        failed.store(true, std::memory_order_relaxed);
        next.store(tasks, std::memory_order_relaxed);
      }
    }
    inside = before;
  }

  // Called between loops: grow the scratch of all workers to the largest request, because any worker may get
  // the largest task and a task must not allocate memory. Skips the caller's scratch, which may be in use.
  void equalise_scratch() {
    const std::size_t largest = largest_scratch.load(std::memory_order_relaxed);
    for (std::size_t worker = 1; worker <= workers.size(); ++worker) scratch[worker].grow(largest);
  }

  // Spin up to kSpins times, then sleep, until the generation in `gate` differs from `seen`; return the new
  // value of `gate`.
  std::uint64_t wait_for_change(std::uint64_t seen) {
    for (int spin = 0; spin < kSpins; ++spin) {
      const std::uint64_t now = gate.load(std::memory_order_acquire);
      if (now >> kGenerationShift != seen) return now;
      relax();
    }
    std::unique_lock lock(sleep_mutex);
    sleepers.fetch_add(1);
    wake.wait(lock, [&] { return gate.load() >> kGenerationShift != seen; });
    sleepers.fetch_sub(1);
    return gate.load(std::memory_order_acquire);
  }

  void park(int worker) {
    std::unique_lock lock(sleep_mutex);
    unpark.wait(lock, [&] { return worker < active.load() || stopping.load(); });
  }

  void set_active(int count) {
    {
      const std::lock_guard lock(sleep_mutex);
      active.store(count);
    }
    unpark.notify_all();
  }

  void worker_main(int worker) {
    std::uint64_t seen = 0;
    while (true) {
      if (worker >= active.load(std::memory_order_relaxed)) park(worker);
      std::uint64_t now = wait_for_change(seen);
      if (stopping.load()) return;
      seen = now >> kGenerationShift;
      bool entered = false;
      while (!entered && (now & kOpen) != 0 && now >> kGenerationShift == seen)
        entered = gate.compare_exchange_weak(now, now + 1, std::memory_order_acquire);
      if (!entered) continue;
      take_tasks(worker);
      gate.fetch_sub(1, std::memory_order_release);
    }
  }

  void announce(bool open) {
    const std::uint64_t next_generation = (gate.load(std::memory_order_relaxed) >> kGenerationShift) + 1;
    gate.store(next_generation << kGenerationShift | (open ? kOpen : 0));
    if (sleepers.load() > 0) {
      {
        const std::lock_guard lock(sleep_mutex);
      }
      wake.notify_all();
    }
  }

  void close_and_wait() {
    const auto some_inside = [this] { return (gate.load(std::memory_order_acquire) & (kOpen - 1)) != 0; };
    gate.fetch_and(~kOpen);
    for (int spin = 0; spin < kSpins; ++spin) {
      if (!some_inside()) return;
      relax();
    }
    const Stopwatch watch;
    while (some_inside()) std::this_thread::yield();
    monitor.lost(watch.seconds());
  }

  void look_for_others() {
    constexpr int kLoopsBetween = 16;
    if (workers.empty() || ++loops < kLoopsBetween) return;
    loops = 0;
    if (monitor.update(seconds_now(), involuntary_switches)) set_active(monitor.active());
  }
};

// All pools of the process. A child of fork() has no worker threads and may inherit locked mutexes, so each
// pool in the child gets a new state with only the calling thread.
struct ThreadPool::Pools {
  std::mutex guard;
  ThreadPool* first = nullptr;
  // states of pools from before fork(); never destroyed, because their threads cannot be joined
  State* abandoned = nullptr;

  static Pools& all() {
    static Pools pools;
    static const int watched =
        pthread_atfork([] { all().guard.lock(); }, [] { all().guard.unlock(); }, [] { all().go_on_alone(); });
    static_cast<void>(watched);
    return pools;
  }
  void go_on_alone() {
    for (ThreadPool* pool = first; pool != nullptr; pool = pool->next_) pool->go_on_alone();
    guard.unlock();
  }
};

ThreadPool::ThreadPool(int threads, Start start) {
  state_ = std::make_unique<State>(threads > 0 ? threads : usable_cores());
  const auto usual = [](std::function<void()> work) { return std::thread(std::move(work)); };
  warning_ = state_->start_workers(start != nullptr ? start : usual);
  Pools& pools = Pools::all();
  const std::lock_guard lock(pools.guard);
  next_ = std::exchange(pools.first, this);
  if (next_ != nullptr) next_->previous_ = this;
}

ThreadPool::~ThreadPool() {
  Pools& pools = Pools::all();
  const std::lock_guard lock(pools.guard);
  (previous_ != nullptr ? previous_->next_ : pools.first) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

void ThreadPool::go_on_alone() {
  Pools& pools = Pools::all();
  State* const of_parent = state_.release();
  of_parent->next_abandoned = std::exchange(pools.abandoned, of_parent);
  state_ = std::make_unique<State>(1);
}

int ThreadPool::size() const noexcept {
  return state_->size;
}

const std::string& ThreadPool::warning() const noexcept {
  return warning_;
}

void ThreadPool::run(std::int64_t tasks, Call call, void* context) {
  State& state = *state_;
  if (inside.state == &state) {
    const int worker = inside.worker;
    for (std::int64_t task = 0; task < tasks; ++task) call(context, task, worker);
    return;
  }
  const std::lock_guard turn(state.callers);
  state.error = nullptr;
  state.failed.store(false, std::memory_order_relaxed);
  state.call = call;
  state.context = context;
  state.tasks = tasks;
  state.next.store(0, std::memory_order_relaxed);
  state.look_for_others();
  const bool alone = tasks == 1 || state.monitor.active() == 1;
  if (!alone) state.equalise_scratch();
  if (!alone) state.announce(true);
  state.take_tasks(0);
  if (!alone) state.close_and_wait();
  if (state.error) std::rethrow_exception(std::exchange(state.error, nullptr));
}

void ThreadPool::wait_or_give_up() const {
  if (state_->failed.load(std::memory_order_relaxed)) throw GaveUp();
  std::this_thread::yield();
}

std::unique_lock<std::recursive_mutex> ThreadPool::take_turn() {
  if (inside.state == state_.get()) return {};
  return std::unique_lock(state_->callers);
}

int ThreadPool::current_worker() const noexcept {
  return inside.state == state_.get() ? inside.worker : 0;
}

std::byte* ThreadPool::scratch(int worker, std::size_t bytes) {
  Scratch& own = state_->scratch[static_cast<std::size_t>(worker)];
  if (own.capacity < bytes) {
    own.grow(bytes);
    std::size_t largest = state_->largest_scratch.load(std::memory_order_relaxed);
    while (largest < bytes && !state_->largest_scratch.compare_exchange_weak(largest, bytes)) {
    }
  }
  return own.data;
}

void ThreadPool::reserve_scratch(std::size_t bytes) {
  for (int worker = 0; worker < size(); ++worker) scratch(worker, bytes);
}

}  // namespace regard::base
