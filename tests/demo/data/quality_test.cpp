// After the complete training of `regard demo` (a minute or two), most held-out sentences, and all example
// sentences from articles about attention, are translated exactly as in the phrasebook.
#include <gtest/gtest.h>

#include "base/json.h"
#include "support/namespaces.h"
#include "support/trained_demo.h"

namespace regard::testing {
namespace {

TEST(DemoQuality, NineteenOfTwentyHeldOutSentencesAreRight) {
  const Json held_out = parse_json(trained_demo().json, "stdout")["held_out"];
  int exact = 0, of = 0;
  for (const char* kind : {"idiom", "literal", "other"}) {
    exact += held_out[kind]["exact"].get<int>();
    of += held_out[kind]["of"].get<int>();
  }
  EXPECT_GE(of, 500);
  EXPECT_GE(exact * 100, of * 95) << exact << " of " << of;
  EXPECT_EQ(held_out["articles"]["exact"], held_out["articles"]["of"]) << held_out.dump();
  EXPECT_GE(held_out["articles"]["of"].get<int>(), 36);
}

}  // namespace
}  // namespace regard::testing
