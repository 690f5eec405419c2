// The one thread setting of an embedding program.
#pragma once

namespace regard {

// How many threads the functions of the public headers work on; 0: one for each physical core that affinity
// and the cgroup's quota allow, which is also the default. Results have the same bits for every setting.
// Takes effect at the next call; not to be called while another thread is inside regard.
void set_threads(int threads);
int threads();

}  // namespace regard
