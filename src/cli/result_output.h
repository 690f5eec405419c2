// Where a verb writes its results: standard output, or with -o a file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"

namespace regard::cli {

class ResultOutput {
 public:
  // "" and "-" are standard output. A file appears under its name at finish(), whole; without finish()
  // nothing is left of it. Throws io.
  explicit ResultOutput(const std::string& path);

  void write(std::string_view text);
  void flush();  // what is on standard output reaches whoever reads it
  void finish();

 private:
  std::unique_ptr<AtomicFile> file_;  // null: standard output
};

}  // namespace regard::cli
