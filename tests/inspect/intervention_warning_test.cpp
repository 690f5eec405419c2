// Warnings about interventions that changed nothing: reasons, JSON and combination.
#include "inspect/intervention_warning.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

using inspect::EditProgress;
using inspect::InterventionWarning;

TEST(InterventionWarnings, HaveAReasonInTextAndJson) {
  const std::vector<InterventionWarning> warnings{{"a", EditProgress::none},
                                                  {"b: c changed nothing: d", EditProgress::place},
                                                  {"e", EditProgress::position}};
  EXPECT_EQ(warnings[0].text(), "'a' changed nothing: no pass computes the values at this place");
  EXPECT_EQ(warnings[2].text(), "'e' changed nothing: no input has tokens at the given keys");
  const Json json = inspect::to_json(warnings);
  EXPECT_EQ(json[1]["reason"], "positions");
  EXPECT_EQ(json[1]["message"], warnings[1].text());
  EXPECT_EQ(inspect::warnings_in(json), warnings);
  for (const char* other : {"3", "{}", "[1, {\"reason\": \"keys\"}, {\"intervention\": 3}]", "[\"a\"]"})
    EXPECT_TRUE(inspect::warnings_in(parse_json(other, "test")).empty()) << other;
}

TEST(InterventionWarnings, InBothListsAreKeptWithTheFurtherProgress) {
  const std::vector<InterventionWarning> a{{"a", EditProgress::none}, {"b", EditProgress::position}},
      b{{"c", EditProgress::none}, {"b", EditProgress::place}, {"a", EditProgress::place}};
  const std::vector<InterventionWarning> expected{{"a", EditProgress::place}, {"b", EditProgress::position}};
  EXPECT_EQ(inspect::common_warnings(a, b), expected);
  EXPECT_TRUE(inspect::common_warnings(a, {}).empty());
}

}  // namespace
}  // namespace regard::testing
