#include "inspect/head.h"

#include <gtest/gtest.h>

#include "inspect/capture.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

TEST(Head, ReadsWhatIsWritten) {
  EXPECT_EQ(parse_heads("1.0,decoder.2.3", Kind::cross),
            (std::vector<Head>{{Kind::cross, 1, 0}, {Kind::decoder, 2, 3}}));
  for (const char* wrong : {"1", "1.", ".1", "a.b", "1.0.2", "cross.1", "-1.0", "1.0,", "1.0,,2.0", "up.1.0"})
    EXPECT_THROW(parse_heads(wrong, Kind::cross), Error) << wrong;
}

TEST(Head, TakesPointsApart) {
  const auto point = attention_point("decoder.11.cross.weights");
  ASSERT_TRUE(point);
  EXPECT_EQ(point->kind, Kind::cross);
  EXPECT_EQ(point->layer, 11);
  EXPECT_EQ(point->what, "weights");
  EXPECT_EQ(attention_point("encoder.0.self")->what, "");
  EXPECT_FALSE(attention_point("encoder.0.residual"));
  EXPECT_FALSE(attention_point("encoder.embedding"));
}

TEST(Capture, IsAskedBeforeAnythingIsCopied) {
  Capture capture({true, {Kind::cross}, {1}, {0}, false}, {{Kind::cross, 1, 1}});
  EXPECT_TRUE(capture.wants("decoder.1.cross.weights"));
  EXPECT_FALSE(capture.wants("decoder.0.cross.weights"));
  EXPECT_FALSE(capture.wants("decoder.1.self.weights"));
  EXPECT_FALSE(capture.wants("decoder.1.cross.context"));
  EXPECT_FALSE(capture.wants("decoder.1.residual"));
  EXPECT_TRUE(capture.wants_head("decoder.1.cross", 0));
  EXPECT_FALSE(capture.wants_head("decoder.1.cross", 1));
  capture.see("decoder.1.cross.weights", 0, Tensor::of({1, 1, 2}, {0.25f, 0.75f}));
  ASSERT_EQ(capture.weights().size(), 1u);
  EXPECT_EQ(capture.weights()[0].heads, std::vector<std::int64_t>{0});
  EXPECT_EQ(capture.weights()[0].weights.at({0, 0, 1}), 0.75);
}

TEST(Capture, NamesLayersAndHeadsThatAreNotThere) {
  Capture capture({true, {Kind::cross}, {2}, {}, false}, {{Kind::cross, 0, 7}});
  for (std::int64_t layer = 0; layer < 2; ++layer)
    for (std::int64_t head = 0; head < 4; ++head)
      EXPECT_EQ(capture.head_scale("decoder." + std::to_string(layer) + ".cross", head), 1.0f);
  try {
    capture.check();
    FAIL() << "head 7 of 4 was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("layers 0 to 1, heads 0 to 3"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace regard::inspect
