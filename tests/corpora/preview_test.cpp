// The preview of training examples that --dry-run prints.
#include "data/preview.h"

#include <gtest/gtest.h>

namespace regard::data {
namespace {

TEST(Preview, CellsOfATokenStandInOneColumn) {
  const std::vector<std::int32_t> labels{0, -100, 7};
  const std::vector<PreviewRow> rows{{"tokens", {"Peter", "\u6F22\u5B57", "a\nb"}},
                                     label_row("labels", labels, {"B-PER"})};
  EXPECT_EQ(aligned_preview(rows),
            "  tokens Peter \u6F22\u5B57 a\\x0ab\n"
            "  labels B-PER \u00B7    7\n");
}

TEST(Preview, LongExamplesAreWrapped) {
  const std::vector<PreviewRow> rows{{"t", {"one", "two", "three"}}, {"l", {"1", "2"}}};
  EXPECT_EQ(aligned_preview(rows, 12),
            "  t one two\n"
            "  l 1   2\n"
            "\n"
            "    three\n"
            "\n");
  EXPECT_EQ(aligned_preview(rows, 11), aligned_preview(rows, 12)) << "the first lines have 11 columns";
  EXPECT_EQ(aligned_preview(rows, 10),
            "  t one\n"
            "  l 1\n"
            "\n"
            "    two\n"
            "    2\n"
            "\n"
            "    three\n"
            "\n");
  EXPECT_EQ(aligned_preview({}), "");
}

}  // namespace
}  // namespace regard::data
