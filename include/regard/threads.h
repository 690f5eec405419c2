// Threads: how many the library works on, and from which threads it may be called.
//
// Every function and every object of the public headers may be used from any thread. Calls on one object take
// turns, and so do the computations of one pool; a result has the bits of the same call alone. What a caller
// must order itself: an object is neither destroyed nor assigned to while another thread uses it, and numbers
// that one thread writes into a Tensor are not read by another at the same time (regard/tensor.h). Callbacks
// run on the thread of the call that they belong to, and may call the library.
//
// fork(): the child may use the library, objects of the parent included, if no other thread was inside it and
// the call does not come from within a callback. What the parent made works on the child's one thread; after
// set_threads() new objects have threads of their own again. The child may exit() in any case.
#pragma once

#include <string>

namespace regard {

// How many threads the functions of the public headers work on; 0: one for each physical core that affinity
// and the cgroup's quota allow, which is also the default. Results have the same bits for every setting.
// Takes effect for calls that begin and objects that are made from now on: a Learner, Sessions, Classifier,
// Embedder, Answerer or Filler keeps the threads that it was made with.
void set_threads(int threads);
int threads();

// Not empty: the system started fewer threads than were asked for (a limit of processes, for example), and
// work goes on with these. Says how many, and why.
std::string thread_warning();

}  // namespace regard
