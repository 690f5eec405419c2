// Number of threads of the library, and the rules for calling it from several threads.
//
// Every function and object of the public headers may be used from any thread; results are bit-identical to
// those of the same call alone. Calls on one object and computations of one thread pool are serialised,
// except calls on a Tokenizer, which run in parallel.
//
// The caller must ensure that no object is destroyed or assigned to while another thread uses it, and that no
// thread reads the elements of a Tensor while another thread writes them (regard/tensor.h). Callbacks run on
// the thread of the call that they belong to, and may call the library.
//
// fork(): the child may use the library and the parent's objects if no other thread was inside the library at
// the time of the fork and fork() was not called from within a callback; the child may always call exit().
// Objects of the parent run on the child's single thread; after set_threads(), new objects have several
// threads again.
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

// If the system started fewer threads than requested, for example because of a process limit, return a
// message with their number and the reason; otherwise return an empty string. The library works with the
// threads that were started.
REGARD_API std::string thread_warning();

}  // namespace regard
