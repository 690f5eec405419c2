// Learning-rate schedules compared with transformers at every step, up to five steps past the end.
#include "train/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "formats/safetensors.h"
#include "support/shared_data.h"

namespace regard::train {
namespace {

constexpr double kPeak = 0.003;  // the peak of all golden cases

void expect_like_golden(ScheduleKind kind, const std::string& golden_name, double floor) {
  const auto file = formats::SafetensorsFile::open(testing::golden("schedules/golden.safetensors"));
  const std::pair<std::int64_t, std::int64_t> cases[] = {{0, 20}, {5, 25}, {10, 40}};
  for (const auto& [warmup, total] : cases) {
    const Tensor rates = file->tensor("learning_rates." + golden_name + "." + std::to_string(warmup) + "." +
                                      std::to_string(total));
    const Schedule schedule{
        .kind = kind, .peak = kPeak, .floor = floor, .warmup = warmup, .max_steps = total};
    ASSERT_EQ(rates.elements(), total + 5);
    // In transformers a cosine rises again after its end. A run ends there, so later steps are not compared.
    const std::int64_t compared = kind == ScheduleKind::cosine ? total + 1 : total + 5;
    for (std::int64_t step = 0; step < compared; ++step)
      EXPECT_NEAR(schedule.at(step), rates.f64()[step], 1e-12 * kPeak)
          << golden_name << " " << warmup << " " << step;
  }
}

TEST(Schedule, Linear) {
  expect_like_golden(ScheduleKind::linear, "linear", 0.0);
}
TEST(Schedule, Cosine) {
  expect_like_golden(ScheduleKind::cosine, "cosine", 0.0);
}
TEST(Schedule, CosineWithFloor) {
  expect_like_golden(ScheduleKind::cosine, "cosine_with_min_lr", 0.1 * kPeak);
}
TEST(Schedule, InverseSquareRoot) {
  expect_like_golden(ScheduleKind::inverse_sqrt, "inverse_sqrt", 0.0);
}
TEST(Schedule, ConstantWithWarmup) {
  expect_like_golden(ScheduleKind::constant, "constant_with_warmup", 0.0);
}

TEST(Schedule, LinearEndsAtItsFloor) {
  const Schedule schedule{
      .kind = ScheduleKind::linear, .peak = 1.0, .floor = 0.25, .warmup = 0, .max_steps = 10};
  EXPECT_EQ(schedule.at(0), 1.0);
  EXPECT_EQ(schedule.at(10), 0.25);
  EXPECT_EQ(schedule.at(100), 0.25);
}

}  // namespace
}  // namespace regard::train
