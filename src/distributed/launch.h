// Joins the other processes of a run that mpirun or srun started.
#pragma once

#include <memory>
#include <string>

#include "distributed/ranks.h"

namespace regard::distributed {

// Return the number of processes that the launcher started, including this one; 1 without a launcher. The
// number is read from the environment variables of Open MPI (mpirun), PMI and PMIx (srun --mpi).
int launched_processes();

// Load the module ../lib/regard/regard_mpi.so (relative to the program's folder) and join the processes that
// the launcher started. If launched_processes() is 1, the module is not loaded, and the run has one process.
// Throws usage if the module is missing (regard was built without MPI) or cannot be loaded, or if MPI and the
// launcher report different numbers of processes. Throws io if MPI cannot start.
std::unique_ptr<Ranks> join();

// The threads of a rank, and the physical cores of its host that they may use.
struct HostShare {
  int threads = 1;           // number of threads of the rank
  int cores = 1;             // number of physical cores on which these threads may run
  bool bound = false;        // true if the threads are bound to fewer cores than the host has
  std::string text() const;  // text such as "1 thread each, bound to 1 core each"
};

// Choose the number of threads and the cores of this rank. threads: 0 means the number of physical cores of
// this host divided by the number of ranks on it, at least 1. If the launcher bound the rank to fewer cores
// than threads, bind it to all cores of the host that the system allows. For example, Open MPI binds each of
// two ranks to one core.
HostShare share_host(const Ranks& ranks, int threads);

}  // namespace regard::distributed
