// Number of threads of the library, and the rules for calling it from several threads.
//
// Every function and object of the public headers may be used from any thread. Results are bit-identical to
// the results of the same call without concurrent calls. Calls on one object and computations of one thread
// pool are serialised, except calls on a Tokenizer, which run in parallel.
//
// The caller must ensure that no object is destroyed or assigned to while another thread uses it. No thread
// may read the elements of a Tensor while another thread writes them (regard/tensor.h). Callbacks run on the
// thread of the library call that executes them, and may call the library.
//
// fork(): the child may use the library and the parent's objects under two conditions. No other thread was
// inside the library at the time of the fork, and fork() was not called from within a callback. The child may
// always call exit(). Objects of the parent run on the child's single thread; after set_threads(), new
// objects have several threads again.
#pragma once

#include <string>

#include "regard/export.h"

namespace regard {

// Set the number of threads of later calls, 0 to 1024; results are bit-identical for every setting. Default:
// 0, one thread per physical core that affinity and the cgroup quota allow. Throws usage for other numbers.
//
// A Learner, Training, Sessions, Runner or task object (tasks.h, pictures.h, transcribe.h) keeps the number
// of threads that was set when it was constructed.
REGARD_API void set_threads(int threads);
REGARD_API int threads();

// Return a message if the system started fewer threads than requested, for example because of a process
// limit; otherwise return an empty string. The message contains the number of threads and the reason. The
// library works with the threads that were started.
REGARD_API std::string thread_warning();

}  // namespace regard
