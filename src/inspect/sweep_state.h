// The file that stores the results of a sweep, so that an interrupted sweep can continue.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace regard::inspect {

// The settings that identify a sweep, as names and values, in the order in which they are compared.
using SweepSettings = std::vector<std::pair<std::string, std::string>>;

// The first line of the file is {"sweep": {NAME: VALUE}} with the settings. Every other line is a JSON object
// with the result of one part of the sweep, such as one ablated head: {"added": ADDED, PART: name, VALUE:
// number}. `added` lists, as text, the heads already selected for ablation; it is omitted if empty.
class SweepState {
 public:
  // `part` and `value` are the JSON keys PART and VALUE, for the name of a part and its result.
  explicit SweepState(const char* part = "head", const char* value = "loss") : part_(part), value_(value) {}

  // Open or create the file, unless `path` is empty; later calls have no effect. Throws usage if an existing
  // file has other content or belongs to a sweep with other settings; the error names the first different
  // setting. Throws io if the file cannot be written.
  void open(const std::filesystem::path& path, const SweepSettings& settings);

  // Return the stored result of a part, or null if there is none.
  const double* value_of(const std::string& added, const std::string& part) const;
  void add(const std::string& added, const std::string& part, double value);

  // Return the stored result of a part or, if there is none, call compute() and store its result.
  template <class Compute>
  double value_of(const std::string& added, const std::string& part, const Compute& compute) {
    if (const double* known = value_of(added, part)) return *known;
    const double value = compute();
    add(added, part, value);
    return value;
  }

 private:
  void check() const;
  void read(const SweepSettings& settings, const std::string& first);

  const char *part_, *value_;
  std::filesystem::path path_;
  std::ofstream file_;
  std::map<std::pair<std::string, std::string>, double> finished_;  // result for each pair (added, part)
};

}  // namespace regard::inspect
