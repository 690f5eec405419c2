// A row of a table of program calls: arguments, expected exit code and expected parts of the error message.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "support/namespaces.h"
#include "support/program.h"

namespace regard::testing {

struct ProgramCase {
  std::string name;
  std::vector<std::string> arguments;
  int exit_code;
  std::vector<std::string> message;  // parts of the expected message
  std::string input = "";
  std::size_t results = 0;  // number of lines on standard output
};

inline void PrintTo(const ProgramCase& row, std::ostream* out) {
  *out << row.name;
}

inline void expect_ending(const ProgramCase& row, const ProgramResult& result) {
  EXPECT_EQ(result.exit_code, row.exit_code) << result.err;
  for (const std::string& part : row.message)
    EXPECT_NE(result.err.find(part), std::string::npos) << "no '" << part << "' in: " << result.err;
  EXPECT_EQ(result.err.find("internal error"), std::string::npos) << result.err;
}

}  // namespace regard::testing
