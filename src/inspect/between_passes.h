// Callback with which a caller can end a long computation, for example at a deadline.
#pragma once

#include <functional>

namespace regard::inspect {

// Called before every pass and after every decoding step. An exception that it throws ends the computation
// and propagates to the caller. An empty function is not called.
using BetweenPasses = std::function<void()>;

}  // namespace regard::inspect
