// Expect a regard::Error: EXPECT_REGARD_ERROR compares a part of its message, expect_error_text() the whole.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "regard/error.h"
#include "support/namespaces.h"

namespace regard::testing {

// Expect that the call throws an error of this kind with exactly this message.
template <class Call>
void expect_error_text(ErrorKind kind, const std::string& message, Call&& call) {
  try {
    call();
    ADD_FAILURE() << "no error: " << message;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_EQ(error.what(), message);
  }
}

}  // namespace regard::testing

// Expect that the statement throws an error of this kind whose message contains `part`.
#define EXPECT_REGARD_ERROR(statement, expected_kind, part)                               \
  do {                                                                                    \
    try {                                                                                 \
      statement;                                                                          \
      ADD_FAILURE() << "no error from " #statement;                                       \
    } catch (const regard::Error& error) {                                                \
      EXPECT_EQ(error.kind(), expected_kind) << error.what();                             \
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what(); \
    }                                                                                     \
  } while (false)
