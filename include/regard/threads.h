// Number of threads of the library, and the rules for calling it from several threads.
//
// Every function and object of the public headers may be used from any thread. Calls on one object are
// serialised, except those on a Tokenizer, which run in parallel. The computations of one thread pool are
// serialised too. Results are bit-identical to those of the same call alone. The caller must ensure that no
// object is destroyed or assigned to while another thread uses it. While a thread writes the elements of a
// Tensor, no other thread may read them (regard/tensor.h). Callbacks run on the thread of the call that they
// belong to, and may call the library.
//
// fork(): the child may use the library and the parent's objects under two conditions. At the time of the
// fork, no other thread was inside the library, and fork() was not called from within a callback. Objects of
// the parent run on the child's single thread; after set_threads(), new objects have several threads again.
// The child may always call exit().
#pragma once

#include <string>

#include "regard/export.h"

namespace regard {

// Set the number of threads of the public functions, 0 to 1024; other values throw usage. Default: 0, one per
// physical core that affinity and the cgroup quota allow. Results are bit-identical for every setting. The
// setting applies to later calls and to objects constructed later. A Learner, Training, Sessions, Runner or
// task object (tasks.h, pictures.h, transcribe.h) keeps the number of threads that was set when it was
// constructed.
REGARD_API void set_threads(int threads);
REGARD_API int threads();

// Return a message if the system started fewer threads than requested, for example because of a process
// limit; otherwise an empty string. The message contains the number of threads and the reason. The library
// works with the threads that were started.
REGARD_API std::string thread_warning();

}  // namespace regard
