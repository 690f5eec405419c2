// Destination of a command's results: standard output, or the file that -o names.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"

namespace regard::cli {

class ResultOutput {
 public:
  // Direct the output to the file `path`, which only finish() creates (see AtomicFile), or to standard output
  // if `path` is "" or "-". Throws io.
  explicit ResultOutput(const std::string& path);

  void write(std::string_view text);
  void flush();  // flush standard output; no effect on a file
  void finish();

 private:
  std::unique_ptr<AtomicFile> file_;  // the output file; null for standard output
};

// Write all of `content` to the file `path`, or to standard output if it is "-". Unless `quiet` is set, the
// name of a written file is printed on standard error. Throws io.
void write_whole_result(const std::string& path, std::string_view content, bool quiet);

}  // namespace regard::cli
