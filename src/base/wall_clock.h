// The time of day for logs: the system's time at the first call plus the monotonic time since then. If the
// system clock is set while the process runs, the order of lines and the intervals between them stay
// correct.
#pragma once

#include <string>

#include "base/namespaces.h"

namespace regard::base {

double utc_seconds();    // seconds since 1970-01-01
std::string utc_time();  // text such as "2026-01-31T23:59:59Z"

}  // namespace regard::base
