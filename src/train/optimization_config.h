// Keys of [training] for optimiser, schedule and regularisation: defaults, fields, checks, and conversion to
// options of the trainer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/field.h"
#include "train/gradient_clip.h"
#include "train/optimizers/optimizer.h"
#include "train/schedule.h"

namespace regard::train {

struct OptimizationConfig {
  std::string optimizer = "adamw";
  double learning_rate = 1e-3, min_learning_rate = 0.0;
  std::vector<double> betas{0.9, 0.999};
  double epsilon = 1e-8, weight_decay = 0.0;
  std::string decay = "matrices";
  double momentum = 0.0;
  bool nesterov = false;
  double smoothing = 0.99;
  double rate_decay = 0.0;
  AdafactorOptions adafactor;
  double muon_learning_rate = 0.0, muon_momentum = 0.95;
  std::string muon_scale = "original";
  std::string schedule = "inverse-sqrt";
  std::int64_t warmup_steps = 0;
  double cosine_cycles = 0.5;
  std::int64_t restarts = 1;
  double power = 1.0;
  std::int64_t decay_steps = 0;
  std::string decay_shape = "cosine";
  double start_divisor = 25.0, end_divisor = 1e4;
  double clip_norm = 1.0;
  std::string clip_norm_type = "2";
  double label_smoothing = 0.0;
  double r_drop = 0.0;
  double ema_decay = 0.0;
  bool ema_warmup = false;
  double layer_decay = 1.0;
  std::vector<std::string> freeze;
  std::int64_t max_skipped_steps = 10;
};

// Append the run file's fields for optimiser, schedule and regularisation to `list`. Each field refers to the
// member of `config` that holds its value.
void add_optimization_fields(std::vector<Field>& list, OptimizationConfig& config);

// If a key of [training] has no effect, return the reason. Return "" if it has an effect or is not a key of
// OptimizationConfig.
std::string why_unused_in_optimization(const OptimizationConfig& config, const std::string& key);

// Throws usage if values contradict each other. `max_steps` is the limit of the run; 0 means no limit.
void check_optimization(const OptimizationConfig& config, std::int64_t max_steps);

OptimizerOptions optimizer_options(const OptimizationConfig& config);
NormType clip_norm_type(const OptimizationConfig& config);
Schedule schedule_of(const OptimizationConfig& config, std::int64_t max_steps);

}  // namespace regard::train
