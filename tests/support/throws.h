// Expect a regard::Error of the given kind whose message contains `part`.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "regard/error.h"

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
