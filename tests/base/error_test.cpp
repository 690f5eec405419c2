// The parts and kinds of an Error, and the conversion of other exceptions to one.
#include "regard/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include "base/file.h"
#include "regard/result.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

TEST(Error, HasItsPartsUnescapedAndItsTextEscaped) {
  const Error error = Error(ErrorKind::bad_file, "a hole\n", {"vocab.txt", 7, -1})
                          .found("id 7\x1b missing")
                          .expected("ids 0 to 99")
                          .remedy("Train the tokenizer again");
  EXPECT_EQ(error.kind(), ErrorKind::bad_file);
  EXPECT_EQ(error.file(), "vocab.txt");
  EXPECT_EQ(error.place().line, 7);
  EXPECT_EQ(error.place().byte, -1);
  EXPECT_EQ(error.message(), "a hole\n");
  EXPECT_EQ(error.found(), "id 7\x1b missing");
  EXPECT_EQ(error.expected(), "ids 0 to 99");
  EXPECT_EQ(error.remedy(), "Train the tokenizer again");
  const std::string text = error.what();
  EXPECT_TRUE(text.starts_with("vocab.txt:7: a hole")) << text;
  EXPECT_EQ(text.find('\n'), text.npos) << text;
  EXPECT_EQ(text.find('\x1b'), text.npos) << text;
  const Error bare = usage_error("no");
  EXPECT_TRUE(bare.file().empty() && bare.found().empty() && bare.expected().empty() &&
              bare.remedy().empty());
}

TEST(Error, ShorthandsHaveTheirKind) {
  EXPECT_EQ(usage_error("x").kind(), ErrorKind::usage);
  EXPECT_EQ(input_error("x").kind(), ErrorKind::invalid_input);
  EXPECT_EQ(file_error("f", "x").kind(), ErrorKind::bad_file);
  EXPECT_EQ(cancelled_error("x").kind(), ErrorKind::cancelled);
  EXPECT_EQ(resource_error("x").kind(), ErrorKind::resource_exhausted);
  EXPECT_EQ(out_of_memory(12).kind(), ErrorKind::resource_exhausted);
  const char* const names[] = {"usage",   "invalid_input", "bad_file",           "io",
                               "numeric", "cancelled",     "resource_exhausted", "internal"};
  for (int i = 0; i < 8; ++i) EXPECT_STREQ(name_of(static_cast<ErrorKind>(i)), names[i]);
}

ErrorKind kind_of_system_error(int code) {
  return attempt([&]() -> int { throw std::system_error(code, std::generic_category()); }).error().kind();
}

TEST(Error, OtherExceptionsBecomeErrors) {
  EXPECT_EQ(attempt([]() -> int { throw std::bad_alloc(); }).error().kind(), ErrorKind::resource_exhausted);
  EXPECT_EQ(attempt([]() -> int { throw std::runtime_error("x"); }).error().kind(), ErrorKind::internal);
  EXPECT_EQ(attempt([]() -> int { throw 7; }).error().kind(), ErrorKind::internal);
  EXPECT_EQ(attempt([]() -> int { throw input_error("x"); }).error().kind(), ErrorKind::invalid_input);
  // the error of a std::thread that cannot start
  EXPECT_EQ(kind_of_system_error(EAGAIN), ErrorKind::resource_exhausted);
  EXPECT_EQ(kind_of_system_error(ENOENT), ErrorKind::io);
}

TEST(Error, ExhaustedOpenFilesAndMemoryAreNotIo) {
  for (const int code : {EMFILE, ENFILE, ENOMEM})
    EXPECT_EQ(io_error("f", "cannot open", code).kind(), ErrorKind::resource_exhausted) << code;
  for (const int code : {ENOENT, EACCES, ENOSPC, EAGAIN})
    EXPECT_EQ(io_error("f", "cannot open", code).kind(), ErrorKind::io) << code;
}

}  // namespace
}  // namespace regard::testing
