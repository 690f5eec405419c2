// Callback with which a caller can end a long computation, for example at a deadline.
#pragma once

#include <functional>

namespace regard::inspect {

// If not empty, called before every forward pass and after every decoding step. An exception that it throws
// ends the computation and propagates to the caller.
using BetweenPasses = std::function<void()>;

}  // namespace regard::inspect
