// The time of day for logs. It does not jump while the process runs: it is the system's time of the first
// call plus monotonic time since then, so a clock that is set forward or back meanwhile does not change the
// order of lines or the intervals between them.
#pragma once

#include <string>

namespace regard {

double utc_seconds();    // since 1970-01-01
std::string utc_time();  // "2026-01-31T23:59:59Z"

}  // namespace regard
