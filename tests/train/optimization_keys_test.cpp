// Keys of [training] for the optimiser and the schedule: which methods use them, and the options that they
// set.
#include "train/optimization_config.h"

#include <gtest/gtest.h>

#include <set>

#include "train/run_config.h"

namespace regard::train {
namespace {

using MethodNames = std::set<std::string>;

// Return the optimisers and schedules that use a key of [training].
MethodNames optimisers_using(const std::string& key) {
  MethodNames names;
  for (const std::string& name : optimizer_names()) {
    OptimizationConfig config;
    config.optimizer = name;
    if (why_unused_in_optimization(config, key).empty()) names.insert(name);
  }
  return names;
}
MethodNames schedules_using(const std::string& key) {
  MethodNames names;
  for (const char* name : {"inverse-sqrt", "cosine", "cosine-restarts", "linear", "polynomial", "constant",
                           "one-cycle", "warmup-stable-decay"}) {
    OptimizationConfig config;
    config.schedule = name;
    if (why_unused_in_optimization(config, key).empty()) names.insert(name);
  }
  return names;
}

TEST(OptimizationKeys, AreUsedByTheseOptimisers) {
  EXPECT_EQ(optimisers_using("betas"), (MethodNames{"adam", "adamw", "muon"}));
  EXPECT_EQ(optimisers_using("epsilon"), (MethodNames{"adagrad", "adam", "adamw", "muon", "rmsprop"}));
  EXPECT_EQ(optimisers_using("momentum"), (MethodNames{"rmsprop", "sgd"}));
  EXPECT_EQ(optimisers_using("nesterov"), (MethodNames{"sgd"}));
  EXPECT_EQ(optimisers_using("smoothing"), (MethodNames{"rmsprop"}));
  EXPECT_EQ(optimisers_using("rate_decay"), (MethodNames{"adagrad"}));
  for (const char* key : {"scale_parameter", "relative_step", "first_moment"})
    EXPECT_EQ(optimisers_using(key), (MethodNames{"adafactor"}));
  for (const char* key : {"decay_exponent", "clip_threshold"})
    EXPECT_EQ(optimisers_using(key), (MethodNames{"adafactor", "adafactor-torch"}));
  for (const char* key : {"muon_learning_rate", "muon_momentum", "muon_scale"})
    EXPECT_EQ(optimisers_using(key), (MethodNames{"muon"}));
  for (const char* key :
       {"learning_rate", "weight_decay", "decay", "warmup_steps", "clip_norm", "batch_size"})
    EXPECT_EQ(optimisers_using(key).size(), optimizer_names().size()) << key;
}

TEST(OptimizationKeys, AreUsedByTheseSchedules) {
  EXPECT_EQ(schedules_using("min_learning_rate"),
            (MethodNames{"cosine", "cosine-restarts", "linear", "polynomial", "warmup-stable-decay"}));
  EXPECT_EQ(schedules_using("cosine_cycles"), (MethodNames{"cosine"}));
  EXPECT_EQ(schedules_using("restarts"), (MethodNames{"cosine-restarts"}));
  EXPECT_EQ(schedules_using("power"), (MethodNames{"polynomial"}));
  for (const char* key : {"decay_steps", "decay_shape"})
    EXPECT_EQ(schedules_using(key), (MethodNames{"warmup-stable-decay"}));
  for (const char* key : {"start_divisor", "end_divisor"})
    EXPECT_EQ(schedules_using(key), (MethodNames{"one-cycle"}));
  EXPECT_EQ(schedules_using("warmup_steps").size(), 8u);
}

TEST(OptimizationKeys, OfClippingAndTheMovingAverageNeedTheirNumber) {
  OptimizationConfig config;
  EXPECT_EQ(why_unused_in_optimization(config, "clip_norm_type"), "");
  EXPECT_EQ(why_unused_in_optimization(config, "ema_warmup"), "'training.ema_decay' is 0");
  config.clip_norm = 0.0, config.ema_decay = 0.5;
  EXPECT_EQ(why_unused_in_optimization(config, "clip_norm_type"), "'training.clip_norm' is 0");
  EXPECT_EQ(why_unused_in_optimization(config, "ema_warmup"), "");
  EXPECT_EQ(why_unused_in_optimization(config, "epsilon"), "");
  config.optimizer = "sgd";
  EXPECT_EQ(why_unused_in_optimization(config, "epsilon"), "sgd does not use it");
  EXPECT_EQ(why_unused_in_optimization(config, "betas"), "only adamw, adam or muon uses it");
}

TEST(OptimizationKeys, SetTheOptionsOfTheOptimiser) {
  OptimizationConfig config;
  OptimizerOptions options = optimizer_options(config);
  EXPECT_FALSE(options.decay_all);
  EXPECT_FALSE(options.muon.match_adamw);
  EXPECT_EQ(options.muon.rate_ratio, OptimizerOptions().muon.rate_ratio);
  config.optimizer = "muon", config.betas = {0.5, 0.25};
  config.epsilon = 1e-3, config.weight_decay = 0.1, config.decay = "all";
  config.momentum = 0.2, config.nesterov = true, config.smoothing = 0.3, config.rate_decay = 0.4;
  config.learning_rate = 0.5, config.muon_learning_rate = 2.0, config.muon_momentum = 0.6;
  config.muon_scale = "match-adamw", config.adafactor.first_moment = 0.7;
  options = optimizer_options(config);
  EXPECT_EQ(options.method, "muon");
  EXPECT_EQ(options.beta1, 0.5);
  EXPECT_EQ(options.beta2, 0.25);
  EXPECT_EQ(options.epsilon, 1e-3);
  EXPECT_EQ(options.weight_decay, 0.1);
  EXPECT_TRUE(options.decay_all);
  EXPECT_EQ(options.momentum, 0.2);
  EXPECT_TRUE(options.nesterov);
  EXPECT_EQ(options.smoothing, 0.3);
  EXPECT_EQ(options.rate_decay, 0.4);
  EXPECT_EQ(options.muon.rate_ratio, 4.0);
  EXPECT_EQ(options.muon.momentum, 0.6);
  EXPECT_TRUE(options.muon.match_adamw);
  EXPECT_EQ(options.adafactor.first_moment, 0.7);
}

TEST(OptimizationKeys, SetTheScheduleAndTheNorm) {
  OptimizationConfig config;
  EXPECT_EQ(schedule_of(config, 25).decay_steps, 2) << "a tenth of the steps";
  EXPECT_EQ(schedule_of(config, 9).decay_steps, 1) << "at least one step";
  config.schedule = "warmup-stable-decay", config.decay_steps = 7, config.decay_shape = "1-sqrt";
  config.learning_rate = 0.5, config.min_learning_rate = 0.1, config.warmup_steps = 3;
  config.cosine_cycles = 1.5, config.restarts = 4, config.power = 2.0;
  config.start_divisor = 10.0, config.end_divisor = 20.0;
  const Schedule schedule = schedule_of(config, 25);
  EXPECT_EQ(schedule.kind, ScheduleKind::warmup_stable_decay);
  EXPECT_EQ(schedule.decay_shape, DecayShape::one_minus_sqrt);
  EXPECT_EQ(schedule.decay_steps, 7);
  EXPECT_EQ(schedule.peak, 0.5);
  EXPECT_EQ(schedule.floor, 0.1);
  EXPECT_EQ(schedule.warmup, 3);
  EXPECT_EQ(schedule.max_steps, 25);
  EXPECT_EQ(schedule.cycles, 1.5);
  EXPECT_EQ(schedule.restarts, 4);
  EXPECT_EQ(schedule.power, 2.0);
  EXPECT_EQ(schedule.start_divisor, 10.0);
  EXPECT_EQ(schedule.end_divisor, 20.0);
  EXPECT_EQ(clip_norm_type(config), NormType::two);
  config.clip_norm_type = "1";
  EXPECT_EQ(clip_norm_type(config), NormType::one);
  config.clip_norm_type = "inf";
  EXPECT_EQ(clip_norm_type(config), NormType::infinity);
}

}  // namespace
}  // namespace regard::train
