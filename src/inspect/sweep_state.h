// The file of a sweep's finished heads, from which a later sweep continues.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>

namespace regard::inspect {

// `added` is the list, as text, of the heads that sweep_head_sets() has already chosen, and `head` the name
// of a head.
class SweepState {
 public:
  // Open the file; only the first call has an effect. An empty path means no file. `key` identifies the
  // sweep. Throws usage for a file of another sweep or with other content, io if it cannot be written.
  void open(const std::filesystem::path& path, const std::string& key);

  // Return the loss of a finished head, or null.
  const double* loss_of(const std::string& added, const std::string& head) const;
  void add(const std::string& added, const std::string& head, double loss);

 private:
  void check() const;
  void read(const std::string& key, const std::string& first);

  std::filesystem::path path_;
  std::ofstream file_;
  std::map<std::pair<std::string, std::string>, double> finished_;  // losses by added heads and head
};

}  // namespace regard::inspect
