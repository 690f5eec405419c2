// Callback that allows a caller to end long work, for example at a deadline.
#pragma once

#include <functional>

namespace regard::inspect {

// Called before every pass and after every decoding step. An exception that it throws ends the work and
// propagates. An empty function is not called.
using BetweenPasses = std::function<void()>;

}  // namespace regard::inspect
