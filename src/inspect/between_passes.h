// A callback with which a caller that has a deadline can end long work.
#pragma once

#include <functional>

namespace regard::inspect {

// Called before every pass and after every decoding step. An exception that it throws ends the work and
// propagates. Empty: not called.
using BetweenPasses = std::function<void()>;

}  // namespace regard::inspect
