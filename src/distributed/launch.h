// Joins the other processes of a run that mpirun or srun started.
#pragma once

#include <memory>
#include <string>

#include "distributed/ranks.h"

namespace regard::distributed {

// Return the number of processes that the launcher started, including this one. It is read from the
// environment variables of Open MPI (mpirun), PMI and PMIx (srun --mpi). Returns 1 without a launcher.
int launched_processes();

// Join the processes that the launcher started, or return a run of one process if launched_processes() is 1.
// Loads the module regard_mpi.so from the folder ../lib/regard beside the program's folder. Throws usage if
// the module does not exist (regard was built without MPI) or cannot be loaded. Throws usage if the number of
// processes differs between MPI and the launcher. Throws io if MPI cannot start.
std::unique_ptr<Ranks> join();

// The threads of a rank, and the physical cores of its host that they may use.
struct HostShare {
  int threads = 1;           // number of threads of the rank
  int cores = 1;             // number of physical cores on which these threads may run
  bool bound = false;        // true if the threads are bound to fewer cores than the host has
  std::string text() const;  // text such as "1 thread each, bound to 1 core each"
};

// Return this rank's share for `threads` threads; 0 means the physical cores of this host, divided among its
// ranks, at least 1. A launcher may have bound the rank to fewer cores than it has threads (Open MPI binds
// each of two ranks to one core). The binding is then widened to all cores of the host, as far as the system
// allows.
HostShare share_host(const Ranks& ranks, int threads);

}  // namespace regard::distributed
