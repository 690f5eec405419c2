#include "distributed/launch.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/counted.h"
#include "base/thread_pool.h"
#include "regard/error.h"

namespace regard::distributed {
namespace {

namespace fs = std::filesystem;

// Return the number at the start of the environment variable's value, or 0 if there is none.
int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  int number = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), number);
  return number;
}

fs::path module_file() {
  std::error_code unknown;
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown);
  return (program.parent_path() / ".." / "lib" / "regard" / "regard_mpi.so").lexically_normal();
}

Error without_mpi(int processes, const std::string& reason) {
  return usage_error(
             fmt::format("{} processes were started together, but this build of regard cannot use MPI",
                         processes))
      .found(reason)
      .remedy("Start regard without mpirun, or install libopenmpi-dev, run cmake again and build");
}

}  // namespace

int launched_processes() {
  int processes = 1;
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    processes = std::max(processes, number_in(variable));
  // With srun --mpi=pmix, PMIx sets no variable with the number of ranks, so Slurm's variable is read.
  if (std::getenv("PMIX_RANK") != nullptr) processes = std::max(processes, number_in("SLURM_STEP_NUM_TASKS"));
  return processes;
}

std::unique_ptr<Ranks> join() {
  const int processes = launched_processes();
  if (processes == 1) return std::make_unique<Ranks>();
  const fs::path file = module_file();
  if (!fs::exists(file)) throw without_mpi(processes, "no " + file.string());
  // The module stays loaded. Its symbols are global because MPI libraries load plug-ins that need them.
  void* module = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) throw without_mpi(processes, ::dlerror());
  const auto open = reinterpret_cast<OpenTransport>(::dlsym(module, kOpenTransport));
  if (open == nullptr) throw without_mpi(processes, file.string() + " is of another version of regard");
  char failure[256] = "";
  std::unique_ptr<Transport> transport(open(failure, sizeof failure));
  if (!transport) throw Error(ErrorKind::io, "MPI cannot start").found(failure);
  if (transport->size() == processes) return std::make_unique<Ranks>(std::move(transport));
  throw usage_error("the launcher and regard use different MPI libraries")
      .found(fmt::format("{} processes from the launcher, {} in MPI", processes, transport->size()))
      .remedy("Use the mpirun of the library that regard was built with");
}

std::string HostShare::text() const {
  const std::string binding =
      bound ? fmt::format("bound to {} each", counted(cores, "core")) : "not bound to cores";
  return fmt::format("{} each, {}", counted(threads, "thread"), binding);
}

HostShare share_host(const Ranks& ranks, int threads) {
  const int bound = usable_cores();
  if (ranks.alone()) return {threads > 0 ? threads : bound, bound, false};
  cpu_set_t before, all;
  const bool known = sched_getaffinity(0, sizeof before, &before) == 0;
  CPU_ZERO(&all);
  for (int i = 0; i < CPU_SETSIZE; ++i) CPU_SET(i, &all);
  // Request all cores. The kernel removes cores that do not exist or that the process may not use.
  const bool widened = known && sched_setaffinity(0, sizeof all, &all) == 0;
  const int cores = usable_cores();
  if (threads == 0) threads = std::max(1, cores / ranks.local_size());
  if (!widened || bound < threads) return {threads, cores, false};
  sched_setaffinity(0, sizeof before, &before);  // restore the binding, because it allows enough cores
  return {threads, bound, bound < cores};
}

}  // namespace regard::distributed
