// The file of a study's finished parts, from which a later study continues.
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

// The first line of the file is {"sweep": {NAME: VALUE}} with the settings. The others are one JSON object
// per line: {"added": ADDED, PART: name, VALUE: number}. `added` is the list, as text, of the heads that are
// already chosen; it is left out if empty.
class SweepState {
 public:
  // `part` and `value` are the names of the members PART and VALUE of every line.
  explicit SweepState(const char* part = "head", const char* value = "loss") : part_(part), value_(value) {}

  // Open the file; only the first call has an effect. An empty path means no file. Throws usage for a file of
  // a sweep with other settings, naming the first setting that differs, or with other content; io if it
  // cannot be written.
  void open(const std::filesystem::path& path, const SweepSettings& settings);

  // Return the value of a finished part, or null.
  const double* value_of(const std::string& added, const std::string& part) const;
  void add(const std::string& added, const std::string& part, double value);

  // Return the value of a part: from the file, or compute(), whose result is added to the file.
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
  std::map<std::pair<std::string, std::string>, double> finished_;  // value for each pair (added heads, part)
};

}  // namespace regard::inspect
