// SplitDuplicates counts the validation records that are also in the training data, and gives their
// locations.
#include "data/duplicates.h"

#include <gtest/gtest.h>

#include <vector>

namespace regard::data {
namespace {

using Texts = std::vector<std::string>;

TEST(SplitDuplicates, AreCountedOnceWithTheirPlaces) {
  SplitDuplicates duplicates;
  duplicates.check_training(Texts{"a"}, {"train", 1, -1});
  duplicates.add_validation(Texts{"a", "b"}, {"valid", 1, -1});
  duplicates.add_validation(Texts{"ab", ""}, {"valid", 2, -1});
  duplicates.add_validation(Texts{"c", "d"}, {"valid", 3, -1});
  duplicates.add_validation(Texts{"c", "d"}, {"valid", 4, -1});
  duplicates.check_training(Texts{"a", "B"}, {"train", 1, -1});
  EXPECT_EQ(duplicates.text(), "");
  for (int line = 2; line < 5; ++line) duplicates.check_training(Texts{"c", "d"}, {"train", line, -1});
  duplicates.check_training(Texts{"a", "b"}, {"train", 6, -1});
  EXPECT_EQ(duplicates.count(), 3);
  EXPECT_EQ(
      duplicates.text(),
      "duplicates: 3 of 4 validation records are also in the training data (first: valid:3 and train:2)");
}

}  // namespace
}  // namespace regard::data
