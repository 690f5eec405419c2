// Options of a search that replace those of the model's folder.
#include "infer/search_overrides.h"

#include <gtest/gtest.h>

#include <tuple>
#include <type_traits>

#include "support/throws.h"

namespace regard::infer {
namespace {

template <class Value>
using Given = std::optional<Value> SearchOverrides::*;

// Return overrides of which one member has this value.
template <class Value>
SearchOverrides overrides(Given<Value> member, const std::type_identity_t<Value>& value,
                          SearchOverrides given = {}) {
  given.*member = value;
  return given;
}

using Numbers = std::tuple<std::int64_t, std::int64_t, bool>;  // beam, n_best, sample

Numbers numbers_of(const SearchOverrides& given) {
  SearchOptions folder;
  folder.beam = 5, folder.n_best = 4;
  const SearchOptions options = given.over(folder, 7);
  EXPECT_EQ(options.seed, 7u);
  return {options.beam, options.n_best, options.sample};
}

// A beam narrower than the folder's number of results reduces this number; a given number is not reduced.
TEST(SearchOverrides, BeamsAndNumbersOfResults) {
  EXPECT_EQ(numbers_of({}), Numbers(5, 4, false));
  EXPECT_EQ(numbers_of(overrides(&SearchOverrides::beam, 3)), Numbers(3, 3, false));
  EXPECT_EQ(numbers_of(overrides(&SearchOverrides::beam, 6)), Numbers(6, 4, false));
  EXPECT_EQ(numbers_of(overrides(&SearchOverrides::n_best, 2)), Numbers(5, 2, false));
  EXPECT_EQ(numbers_of(overrides(&SearchOverrides::n_best, 9)), Numbers(9, 9, false)) << "a wider beam";
  EXPECT_REGARD_ERROR(
      numbers_of(overrides(&SearchOverrides::n_best, 4, overrides(&SearchOverrides::beam, 3))),
      ErrorKind::usage, "4");
}

TEST(SearchOverrides, SamplesAreDrawnWithoutABeam) {
  SearchOverrides sampled;
  sampled.sample = true;
  EXPECT_EQ(numbers_of(sampled), Numbers(1, 4, true));
  EXPECT_EQ(numbers_of(overrides(&SearchOverrides::beam, 1, sampled)), Numbers(1, 4, true)) << "four samples";
  EXPECT_EQ(numbers_of(overrides(&SearchOverrides::n_best, 9, sampled)), Numbers(1, 9, true));
  EXPECT_EQ(numbers_of(overrides(&SearchOverrides::top_k, 3)), Numbers(1, 4, true));
  for (const Given<double> member : {&SearchOverrides::temperature, &SearchOverrides::top_p,
                                     &SearchOverrides::min_p, &SearchOverrides::typical_p})
    EXPECT_EQ(numbers_of(overrides(member, 0.5)), Numbers(1, 4, true));
}

TEST(SearchOverrides, ReplaceEachValueOfTheFolder) {
  SearchOverrides given;
  given.max_new = given.min_new = 9, given.top_k = 3, given.no_repeat_ngram = 4;
  given.length_penalty = 0.25, given.repetition_penalty = 1.5, given.temperature = 0.75;
  given.top_p = 0.5, given.min_p = 0.125, given.typical_p = 0.875;
  const SearchOptions options = given.over({}, 1);
  EXPECT_EQ(options.max_new, 9);
  EXPECT_EQ(options.rules.min_new, 9);
  EXPECT_EQ(options.top_k, 3);
  EXPECT_EQ(options.rules.no_repeat_ngram, 4);
  EXPECT_EQ(options.length_penalty, 0.25);
  EXPECT_EQ(options.rules.repetition_penalty, 1.5);
  EXPECT_EQ(options.temperature, 0.75);
  EXPECT_EQ(options.top_p, 0.5);
  EXPECT_EQ(options.min_p, 0.125);
  EXPECT_EQ(options.typical_p, 0.875);
}

TEST(SearchOverrides, RulesThatEndABeamSearchHaveNames) {
  SearchOptions folder;
  for (const EarlyStopping before : {EarlyStopping::no, EarlyStopping::yes, EarlyStopping::never}) {
    folder.early_stopping = before;
    EXPECT_EQ(SearchOverrides().over(folder, 1).early_stopping, before);
    for (const auto& [name, rule] :
         {std::pair("yes", EarlyStopping::yes), {"no", EarlyStopping::no}, {"never", EarlyStopping::never}})
      EXPECT_EQ(overrides(&SearchOverrides::early_stopping, name).over(folder, 1).early_stopping, rule);
  }
}

// The folder's minimum may exceed a given maximum; a given minimum may not.
TEST(SearchOverrides, MinimumAndMaximumOfNewTokens) {
  const SearchOverrides most = overrides(&SearchOverrides::max_new, 8);
  EXPECT_REGARD_ERROR(overrides(&SearchOverrides::min_new, 9, most).over({}, 1), ErrorKind::usage,
                      "--min-new exceeds --max-new (expected at most 8, found 9)");
  EXPECT_EQ(overrides(&SearchOverrides::min_new, 8, most).over({}, 1).rules.min_new, 8);
  EXPECT_EQ(overrides(&SearchOverrides::min_new, 9).over({}, 1).rules.min_new, 9) << "no maximum";
  SearchOptions folder;
  folder.rules.min_new = 9;
  EXPECT_EQ(most.over(folder, 1).rules.min_new, 9);
}

}  // namespace
}  // namespace regard::infer
