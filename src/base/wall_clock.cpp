#include "base/wall_clock.h"

#include <chrono>
#include <ctime>

#include "base/clock.h"

namespace regard::base {

double utc_seconds() {
  using System = std::chrono::system_clock;
  static const double start =
      std::chrono::duration<double>(System::now().time_since_epoch()).count() - seconds_now();
  return start + seconds_now();
}

std::string utc_time() {
  const auto now = static_cast<std::time_t>(utc_seconds());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace regard::base
