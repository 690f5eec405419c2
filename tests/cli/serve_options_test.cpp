// Values of options of `regard serve` that are refused before a model is read.
#include <gtest/gtest.h>

#include "support/namespaces.h"
#include "support/program.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

TEST(ServeOptions, ErrorsNameTheOptionAndItsForm) {
  const TemporaryFolder folder;
  const struct {
    const char *option, *value, *message;
  } kCases[] = {
      {"--name", "gpt", "--name is malformed (expected NAME=FOLDER, found \"gpt\")"},
      {"--name", "gpt=", "--name is malformed (expected NAME=FOLDER, found \"gpt=\")"},
      {"--name", "=gpt", "--name is malformed (expected NAME=FOLDER, found \"=gpt\")"},
      {"--languages", "one", "--languages is malformed (expected NAME=SOURCES:TARGETS, found \"one\")"},
      {"--languages", "one=", "--languages is malformed (expected NAME=SOURCES:TARGETS, found \"one=\")"},
      {"--languages", "one=en",
       "--languages is malformed (expected NAME=SOURCES:TARGETS, as in NAME=en:hi, found \"one=en\")"},
      {"--languages", "one=:hi",
       "--languages is malformed (expected NAME=SOURCES:TARGETS, as in NAME=en:hi, found \"one=:hi\")"},
      {"--languages", "one=en:,",
       "--languages is malformed (expected NAME=SOURCES:TARGETS, as in NAME=en:hi, found \"one=en:,\")"},
      {"--languages", "three=en:hi",
       "--languages names no model of the server (expected one of one, two, found \"three\")"},
      {"--allow-host", "example.org:80",
       "--allow-host is malformed (expected a name without a port, such as example.org, found "
       "\"example.org:80\")"},
      {"--cors", "https://",
       "--cors is malformed (expected * or an origin without a path, such as https://example.org, found "
       "\"https://\")"},
      {"--cors", "https://a/",
       "--cors is malformed (expected * or an origin without a path, such as https://example.org, found "
       "\"https://a/\")"}};
  for (const auto& one : kCases) {
    const ProgramResult result =
        run_program({"serve", "folder/one/", "--name", "two=folder", "--port", "0", one.option, one.value},
                    folder.path());
    EXPECT_EQ(result.exit_code, 2) << one.value;
    EXPECT_EQ(result.err, std::string("regard: ") + one.message + "\n");
  }
  // Values of the right form: the next error is that there is no model.
  for (const auto& [option, value] : {std::pair{"--languages", "one=en,de:hi,ta"},
                                      {"--languages", "two=en:hi"},
                                      {"--name", "a=b=c"},
                                      {"--allow-host", "example.org"},
                                      {"--cors", "*"},
                                      {"--cors", "null"},
                                      {"--cors", "https://a"}})
    EXPECT_EQ(run_program({"serve", "folder/one/", "--name", "two=folder", "--port", "0", option, value},
                          folder.path())
                  .exit_code,
              4)
        << value;
}

}  // namespace
}  // namespace regard::testing
