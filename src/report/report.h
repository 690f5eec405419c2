// Report on training runs: curves, samples, confusion matrix and settings.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/json.h"
#include "report/run_history.h"

namespace regard::report {

// Maximum number of points of a curve. A longer curve is divided into kMaxPoints / 2 ranges. Only the
// smallest and the largest value of each range are kept, so all peaks remain visible.
constexpr std::size_t kMaxPoints = 2000;

// Return the content of a report:
// {"runs": [{"name", "folder", "settings": {KEY: VALUE}, "curves": {NAME: [[step, value], …]},
//   "progress": [[step, epochs, seconds], …], "starts", "samples", "confusion", "best_step", "average"}],
//   "reduced": true if a curve was reduced}
// "name" is the last component of the folder's path, or the whole path if two runs have the same "name".
Json report_data(std::span<const RunHistory> runs);

// Return an HTML page, without external resources, that displays the result of report_data().
std::string report_page(const Json& data);

}  // namespace regard::report
