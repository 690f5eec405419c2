// Joins the other processes of a run that mpirun or srun started.
#pragma once

#include <memory>

#include "distributed/ranks.h"

namespace regard::distributed {

// Return the number of processes that the launcher started, including this one. It is read from the
// environment variables of Open MPI (mpirun), PMI and PMIx (srun --mpi). Returns 1 without a launcher.
int launched_processes();

// Join the processes that the launcher started, or return a run of one process if launched_processes() is 1.
// Loads the module regard_mpi.so from the folder ../lib/regard beside the program's folder. Throws usage if
// the module does not exist (regard was built without MPI) or cannot be loaded, and io if MPI cannot start.
std::unique_ptr<Ranks> join();

// Return the number of threads of this rank if the user gives none: the physical cores of this host, divided
// among its ranks; at least 1. A launcher may have bound the rank to fewer cores (Open MPI binds each of two
// ranks to one core). The binding is then widened to all cores of the host, as far as the system allows.
int threads_of_rank(const Ranks& ranks);

}  // namespace regard::distributed
