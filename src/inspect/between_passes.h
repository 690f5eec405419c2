// A callback of long work, so that a caller with a deadline can end it.
#pragma once

#include <functional>

namespace regard::inspect {

// Called before every pass and after every decoding step. An exception that it throws ends the work and
// propagates. Empty: not called.
using BetweenPasses = std::function<void()>;

}  // namespace regard::inspect
