// Runs JavaScript of the report page with Node.js.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "support/program.h"
#include "support/temporary_folder.h"

namespace regard::testing {

inline bool has_node() {
  return std::system("command -v node >/dev/null") == 0;
}

// Run the script and return its output. The test fails if the script fails.
inline std::string output_of_node(const std::string& script) {
  const TemporaryFolder folder;
  const auto file = write_file(folder.path(), "script.js", script);
  const std::string command = "timeout 60 node --max-old-space-size=200 '" + file.string() + "' >'" +
                              (folder / "out").string() + "' 2>&1";
  const int status = std::system(command.c_str());
  std::string output = file_content(folder / "out");
  EXPECT_EQ(status, 0) << output;
  return output;
}

}  // namespace regard::testing
