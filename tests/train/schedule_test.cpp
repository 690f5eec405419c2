// Learning-rate schedules compared with transformers and PyTorch at every step, up to five steps past the
// end.
#include "train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "formats/safetensors.h"
#include "support/shared_data.h"

namespace regard::train {
namespace {

constexpr double kPeak = 0.003;  // peak learning rate of all golden cases

void expect_rates(Schedule schedule, const Tensor& rates, const std::string& what) {
  for (std::int64_t step = 0; step < rates.elements(); ++step)
    EXPECT_NEAR(schedule.at(step), rates.f64()[step], 1e-12 * kPeak) << what << " " << step;
}

// Compare `schedule` with each golden case, after setting the peak, warm-up and length of the case.
void expect_like_golden(Schedule schedule, const std::string& golden_name) {
  const auto file = formats::SafetensorsFile::open(testing::golden("schedules/golden.safetensors"));
  const std::pair<std::int64_t, std::int64_t> cases[] = {{0, 20}, {5, 25}, {10, 40}};
  for (const auto& [warmup, total] : cases) {
    const std::string name = golden_name + "." + std::to_string(warmup) + "." + std::to_string(total);
    const Tensor rates = file->tensor("learning_rates." + name);
    ASSERT_EQ(rates.elements(), total + 5);
    schedule.peak = kPeak;
    schedule.warmup = golden_name == "constant" ? 0 : warmup;
    schedule.max_steps = total;
    expect_rates(schedule, rates, name);
  }
}

TEST(Schedule, Linear) {
  expect_like_golden({.kind = ScheduleKind::linear}, "linear");
}
TEST(Schedule, Cosine) {
  expect_like_golden({.kind = ScheduleKind::cosine}, "cosine");
}
TEST(Schedule, CosineOfSeveralPeriods) {
  expect_like_golden({.kind = ScheduleKind::cosine, .cycles = 1.5}, "cosine_half");
}
TEST(Schedule, CosineWithFloor) {
  expect_like_golden({.kind = ScheduleKind::cosine, .floor = 0.1 * kPeak}, "cosine_with_min_lr");
}
TEST(Schedule, CosineWithRestarts) {
  expect_like_golden({.kind = ScheduleKind::cosine_restarts, .restarts = 3}, "cosine_with_restarts");
}
TEST(Schedule, Polynomial) {
  expect_like_golden({.kind = ScheduleKind::polynomial, .floor = 1e-5, .power = 2.0}, "polynomial");
}
TEST(Schedule, InverseSquareRoot) {
  expect_like_golden({.kind = ScheduleKind::inverse_sqrt}, "inverse_sqrt");
}
TEST(Schedule, ConstantWithWarmup) {
  expect_like_golden({.kind = ScheduleKind::constant}, "constant_with_warmup");
}
TEST(Schedule, Constant) {
  expect_like_golden({.kind = ScheduleKind::constant}, "constant");
}

TEST(Schedule, OneCycleAsTorch) {
  const auto file = formats::SafetensorsFile::open(testing::golden("schedules/more.safetensors"));
  const std::pair<std::int64_t, std::int64_t> cases[] = {{0, 20}, {6, 20}, {12, 40}};
  for (const auto& [warmup, total] : cases) {
    const Schedule schedule{.kind = ScheduleKind::one_cycle,
                            .peak = kPeak,
                            .warmup = warmup,
                            .max_steps = total,
                            .start_divisor = 20.0,
                            .end_divisor = 500.0};
    const std::string name = "one_cycle." + std::to_string(warmup) + "." + std::to_string(total);
    expect_rates(schedule, file->tensor(name), name);
    EXPECT_EQ(schedule.at(total + 7), schedule.at(total - 1)) << "constant after the end";
  }
}

TEST(Schedule, WarmupStableDecayAsTransformers) {
  const auto file = formats::SafetensorsFile::open(testing::golden("schedules/more.safetensors"));
  const std::pair<const char*, DecayShape> shapes[] = {
      {"cosine", DecayShape::cosine}, {"linear", DecayShape::linear}, {"1-sqrt", DecayShape::one_minus_sqrt}};
  const std::int64_t cases[][3] = {{0, 5, 20}, {4, 8, 20}, {10, 30, 40}};
  for (const auto& [shape_name, shape] : shapes)
    for (const auto& [warmup, decay, total] : cases) {
      const Schedule schedule{.kind = ScheduleKind::warmup_stable_decay,
                              .peak = kPeak,
                              .floor = 0.1 * kPeak,
                              .warmup = warmup,
                              .max_steps = total,
                              .decay_steps = decay,
                              .decay_shape = shape};
      const std::string name = std::string("wsd.") + shape_name + "." + std::to_string(warmup) + "." +
                               std::to_string(decay) + "." + std::to_string(total);
      expect_rates(schedule, file->tensor(name), name);
    }
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
