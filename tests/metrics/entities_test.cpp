// Entities and their scores compared with seqeval, in its default and its strict mode
// (tools/make_metric_cases.py).
#include "metrics/entities.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::metrics {
namespace {

using Sequences = std::vector<std::vector<std::string>>;

void expect_entity_scores(const PrecisionRecall& scores, const Json& golden) {
  constexpr double kTolerance = 1e-12;
  EXPECT_NEAR(scores.precision, golden[0].get<double>(), kTolerance);
  EXPECT_NEAR(scores.recall, golden[1].get<double>(), kTolerance);
  EXPECT_NEAR(scores.f1, golden[2].get<double>(), kTolerance);
  EXPECT_EQ(static_cast<double>(scores.support), golden[3].get<double>());
}

void expect_entity_scores(const EntityScores& scores, const Json& golden) {
  expect_entity_scores(scores.micro, golden["micro"]);
  expect_entity_scores(scores.macro, golden["macro"]);
  expect_entity_scores(scores.weighted, golden["weighted"]);
  ASSERT_EQ(scores.by_type.size(), golden["by_type"].size());
  for (const auto& [type, expected] : golden["by_type"].items()) {
    SCOPED_TRACE(type);
    ASSERT_TRUE(scores.by_type.contains(type));
    expect_entity_scores(scores.by_type.at(type), expected);
  }
}

// Return entities as seqeval's get_entities() does for the concatenated sequences, where positions count an O
// after each sequence.
std::vector<Json> flattened(const std::vector<Entity>& entities, const Sequences& sequences) {
  std::vector<std::size_t> offsets{0};
  for (const auto& labels : sequences) offsets.push_back(offsets.back() + labels.size() + 1);
  std::vector<Json> list;
  for (const Entity& one : entities)
    list.push_back({one.type, offsets[one.sequence] + one.first, offsets[one.sequence] + one.last});
  return list;
}

TEST(EntityScores, EqualSeqevals) {
  const Json golden = read_json(testing::golden("metrics/entities.json"));
  int strict = 0;
  for (const Json& one : golden["cases"]) {
    SCOPED_TRACE(one["truth"].dump());
    const auto truth = one["truth"].get<Sequences>(), predicted = one["predicted"].get<Sequences>();
    const EntityScores scores = entity_scores(predicted, truth);
    EXPECT_NEAR(scores.accuracy, one["accuracy"].get<double>(), 1e-12);
    if (one.contains("default")) expect_entity_scores(scores, one["default"]);
    if (!one.contains("scheme")) continue;
    ++strict;
    EXPECT_EQ(flattened(entities_of(truth), truth), one["entities"].get<std::vector<Json>>());
    const EntityScheme scheme = entity_scheme_named(one["scheme"].get<std::string>());
    expect_entity_scores(entity_scores(predicted, truth, scheme), one["strict"]);
    EXPECT_EQ(detect_entity_scheme(truth), entity_scheme_named(one["detected"].get<std::string>()));
  }
  EXPECT_EQ(strict, 24);
}

TEST(EntityScores, WithoutEntitiesAreZero) {
  const Sequences none{{"O", "O"}};
  const EntityScores scores = entity_scores(none, none);
  EXPECT_EQ(scores.micro.f1, 0);
  EXPECT_EQ(scores.macro.f1, 0);
  EXPECT_EQ(scores.weighted.f1, 0);
  EXPECT_EQ(scores.accuracy, 1);
  EXPECT_TRUE(scores.by_type.empty());
  EXPECT_TRUE(entities_of(Sequences{{}}).empty());
}

TEST(EntityScores, LabelsThatDoNotFitAreRefused) {
  const Sequences one{{"B-PER", "I-PER"}}, two{{"B-PER"}}, empty{{""}}, other{{"X-PER"}},
      mixed{{"B-A", "U-A"}};
  EXPECT_REGARD_ERROR(entity_scores(one, two), ErrorKind::usage, "sequence 0 differ in length");
  EXPECT_REGARD_ERROR(entity_scores(one, Sequences{}), ErrorKind::usage, "found 1 predicted sequences");
  EXPECT_REGARD_ERROR(entities_of(empty), ErrorKind::bad_file, "a label is empty");
  EXPECT_REGARD_ERROR(entities_of(empty, EntityScheme::iob2), ErrorKind::bad_file, "scheme iob2");
  EXPECT_REGARD_ERROR(entities_of(other, EntityScheme::iobes), ErrorKind::bad_file, "one of IOBES");
  EXPECT_REGARD_ERROR(detect_entity_scheme(mixed), ErrorKind::bad_file, "prefixes BU");
  EXPECT_REGARD_ERROR(entity_scheme_named("bio"), ErrorKind::usage, "iob1, ioe1, iob2, ioe2, iobes, bilou");
}

}  // namespace
}  // namespace regard::metrics
