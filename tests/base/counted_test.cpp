#include "base/counted.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace regard::base {
namespace {

TEST(Counted, UsesTheSingularOnlyForOne) {
  EXPECT_EQ(counted(1, "word"), "1 word");
  EXPECT_EQ(counted(std::size_t{0}, "word"), "0 words");
  EXPECT_EQ(counted(std::int64_t{-1}, "word"), "-1 words");
  EXPECT_EQ(counted(21, "word"), "21 words");
  EXPECT_EQ(counted(1, "class", "classes"), "1 class");
  EXPECT_EQ(counted(2, "class", "classes"), "2 classes");
}

}  // namespace
}  // namespace regard::base
