#include "train/optimization_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/counted.h"
#include "base/names.h"
#include "regard/error.h"

namespace regard::train {
namespace {

constexpr std::pair<const char*, ScheduleKind> kSchedules[] = {
    {"inverse-sqrt", ScheduleKind::inverse_sqrt},
    {"cosine", ScheduleKind::cosine},
    {"cosine-restarts", ScheduleKind::cosine_restarts},
    {"linear", ScheduleKind::linear},
    {"polynomial", ScheduleKind::polynomial},
    {"constant", ScheduleKind::constant},
    {"one-cycle", ScheduleKind::one_cycle},
    {"warmup-stable-decay", ScheduleKind::warmup_stable_decay},
};
constexpr std::pair<const char*, DecayShape> kShapes[] = {
    {"cosine", DecayShape::cosine},
    {"linear", DecayShape::linear},
    {"1-sqrt", DecayShape::one_minus_sqrt},
};

template <class Table>
auto value_of(const Table& table, const std::string& name) {
  for (const auto& entry : table)
    if (name == entry.first) return entry.second;
  throw usage_error("a key of [training] has an unknown value")
      .found("'" + name + "'")
      .expected(fmt::format("{}", fmt::join(names_of(table), ", ")));
}

bool among(const std::string& value, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), value) != names.end();
}

// Adds fields of [training] to a list.
struct Fields {
  std::vector<Field>& list;

  Field& add(const char* key, FieldTarget target, const char* meaning) {
    list.push_back({.section = "training", .key = key, .target = target, .meaning = meaning});
    return list.back();
  }
  Field& number(const char* key, double& value, double low, double high, const char* meaning) {
    Field& field = add(key, &value, meaning);
    field.low = low, field.high = high;
    return field;
  }
  Field& steps(const char* key, std::int64_t& value, const char* meaning) {
    Field& field = add(key, &value, meaning);
    field.unit = "steps", field.low = 0, field.high = 1e9;
    return field;
  }
  Field& choice(const char* key, std::string& value, std::vector<std::string> choices, const char* meaning) {
    Field& field = add(key, &value, meaning);
    field.choices = std::move(choices);
    return field;
  }
};

constexpr double kBelowOne = 0.9999999;

void add_optimizer(Fields& fields, OptimizationConfig& c) {
  fields.choice("optimizer", c.optimizer, optimizer_names(),
                "Optimiser: adamw (decoupled weight decay), adam, sgd, adafactor as in transformers, "
                "adafactor-torch as in PyTorch, muon for the matrices of the layers with adamw for all "
                "other weights, rmsprop or adagrad.");
  fields.number("learning_rate", c.learning_rate, 0, 1e6, "Peak learning rate, reached after the warm-up.")
      .may_change = true;
  fields
      .number("min_learning_rate", c.min_learning_rate, 0, 1e6,
              "Final learning rate of schedules that end at max_steps. Not used by one-cycle.")
      .may_change = true;
  Field& betas = fields.add("betas", &c.betas,
                            "adamw, adam, muon: decay of the moving averages of the gradient and of its "
                            "square.");
  betas.low = 0, betas.high = kBelowOne;
  fields.number(
      "epsilon", c.epsilon, 1e-20, 1,
      "Value added to the square root of the second moment. Not used by sgd, adafactor and adafactor-torch.");
  fields.number("weight_decay", c.weight_decay, 0, 1e3,
                "adamw, muon, adafactor: each step multiplies the weights by 1 - learning rate * "
                "weight_decay. adam, sgd, rmsprop, adagrad: weight_decay * weight is added to the gradient.");
  fields.choice("decay", c.decay, {"matrices", "all"},
                "Weights that decay: matrices (embeddings included; no biases, no norms), or all.");
  fields.number("momentum", c.momentum, 0, kBelowOne, "sgd, rmsprop: momentum. 0 disables momentum.");
  fields.add("nesterov", &c.nesterov, "sgd: Nesterov's momentum.");
  fields.number("smoothing", c.smoothing, 0, kBelowOne,
                "rmsprop: decay of the moving average of the squared gradient.");
  fields.number("rate_decay", c.rate_decay, 0, 1e6,
                "adagrad: the learning rate of step t is divided by 1 + rate_decay * (t - 1).");
}

void add_special(Fields& fields, OptimizationConfig& c) {
  fields.add("scale_parameter", &c.adafactor.scale_parameter,
             "adafactor: multiply the learning rate by the root mean square of the weight, at least 0.001.");
  fields.add("relative_step", &c.adafactor.relative_step,
             "adafactor: use the learning rate min(0.01, 1 / sqrt(step)) instead of the schedule.");
  fields.number(
      "first_moment", c.adafactor.first_moment, 0, kBelowOne,
      "adafactor: decay of a moving average of the updates. 0 disables the average and saves its memory.");
  fields.number("decay_exponent", c.adafactor.decay_exponent, 1e-6, 10,
                "adafactor: the second moment's decay at step t is 1 - t^-decay_exponent.");
  fields.number("clip_threshold", c.adafactor.clip_threshold, 1e-6, 1e6,
                "adafactor: maximum root mean square of an update, before the learning rate is applied.");
  fields
      .number("muon_learning_rate", c.muon_learning_rate, 0, 1e6,
              "muon: peak learning rate of the hidden matrices. All other weights use learning_rate. 0 uses "
              "learning_rate for all weights.")
      .may_change = true;
  fields.number("muon_momentum", c.muon_momentum, 0, kBelowOne,
                "muon: Nesterov's momentum of the hidden matrices.");
  fields.choice("muon_scale", c.muon_scale, {"original", "match-adamw"},
                "muon: factor of the update of a matrix: sqrt(max(1, rows / columns)) (original), or 0.2 * "
                "sqrt(max(rows, columns)), which suits learning rates of adamw (match-adamw).");
}

void add_schedule(Fields& fields, OptimizationConfig& c) {
  fields
      .choice(
          "schedule", c.schedule, names_of(kSchedules),
          "Learning rate after the warm-up of w steps (warmup_steps). inverse-sqrt: learning_rate * sqrt(w / "
          "step), or learning_rate * sqrt(10000 / (step + 10000)) if w = 0. The other schedules except "
          "constant decrease to min_learning_rate at max_steps: cosine (half a period), cosine-restarts "
          "(several half periods), linear, polynomial, warmup-stable-decay (constant, then a decrease "
          "during decay_steps). one-cycle rises from learning_rate / start_divisor to learning_rate and "
          "decreases again, both as cosines.")
      .may_change = true;
  fields
      .steps("warmup_steps", c.warmup_steps,
             "Number of steps in which the learning rate rises linearly from 0 to learning_rate. Default: no "
             "warm-up.")
      .may_change = true;
  fields.number(
      "cosine_cycles", c.cosine_cycles, 0, 1e6,
      "cosine: number of periods; 0.5 decreases the rate once from learning_rate to min_learning_rate.");
  Field& restarts = fields.add("restarts", &c.restarts,
                               "cosine-restarts: number of half periods; each starts at learning_rate.");
  restarts.low = 1, restarts.high = 1e6;
  fields.number("power", c.power, 0, 100, "polynomial: exponent p; the rate decreases as (1 - progress)^p.");
  fields.steps("decay_steps", c.decay_steps,
               "warmup-stable-decay: length of the final decrease. 0 means a tenth of max_steps.");
  fields.choice("decay_shape", c.decay_shape, names_of(kShapes),
                "warmup-stable-decay: shape of the final decrease.");
  fields.number("start_divisor", c.start_divisor, 1, 1e12,
                "one-cycle: the first learning rate is learning_rate / start_divisor.");
  fields.number("end_divisor", c.end_divisor, 1, 1e12,
                "one-cycle: the last learning rate is the first learning rate / end_divisor.");
}

void add_stability(Fields& fields, OptimizationConfig& c) {
  fields.number("clip_norm", c.clip_norm, 0, 1e9,
                "Maximum norm of the gradient of all weights together. 0 disables clipping.");
  fields.choice(
      "clip_norm_type", c.clip_norm_type, {"2", "1", "inf"},
      "Norm for clip_norm: Euclidean (2), sum of absolute values (1), or largest absolute value (inf).");
  Field& skipped =
      fields.add("max_skipped_steps", &c.max_skipped_steps,
                 "A step with a loss or gradient that is not finite is skipped and counted. More than this "
                 "many skipped steps in a row end the run. 0 means that the first one ends it.");
  skipped.unit = "steps", skipped.low = 0, skipped.high = 1e9, skipped.may_change = true;
  fields.number("label_smoothing", c.label_smoothing, 0, 0.999,
                "Label smoothing: fraction of each label's probability that is distributed equally among all "
                "classes, as in PyTorch.");
  fields.number("r_drop", c.r_drop, 0, 1e6,
                "R-Drop (Liang et al. 2021): weight of the symmetric divergence between the outputs of two "
                "forward passes with different dropout. 0 disables the second pass.");
  fields.number("ema_decay", c.ema_decay, 0, kBelowOne,
                "Keep a moving average of the weights: average = ema_decay * average + (1 - ema_decay) * "
                "weight after every step. Validations and checkpoints use it. 0 disables it.");
  fields.add("ema_warmup", &c.ema_warmup,
             "Warm-up of ema_decay: use min(ema_decay, (1 + t) / (10 + t)) at update t.");
  fields.number("layer_decay", c.layer_decay, 1e-6, 1,
                "Layer-wise learning-rate decay: the learning rate of each layer is layer_decay times that "
                "of the layer above it. The embeddings, and the convolutions that read sounds, count as the "
                "layer below the first layer. Default: 1, the same rate for all layers.");
  fields.add("freeze", &c.freeze,
             "Names of weights that are not trained, with * for any characters and ? for one, such as "
             "\"encoder.*\".");
}

std::string only(const char* what) {
  return std::string("only ") + what + " uses it";
}

std::string why_optimizer_ignores(const OptimizationConfig& c, const std::string& key) {
  const std::string& o = c.optimizer;
  if (among(key, {"betas"}) && !among(o, {"adamw", "adam", "muon"})) return only("adamw, adam or muon");
  if (key == "epsilon" && among(o, {"sgd", "adafactor", "adafactor-torch"})) return o + " does not use it";
  if (key == "momentum" && !among(o, {"sgd", "rmsprop"})) return only("sgd or rmsprop");
  if (key == "nesterov" && o != "sgd") return only("sgd");
  if (key == "smoothing" && o != "rmsprop") return only("rmsprop");
  if (key == "rate_decay" && o != "adagrad") return only("adagrad");
  if (among(key, {"scale_parameter", "relative_step", "first_moment"}) && o != "adafactor")
    return only("adafactor");
  if (among(key, {"decay_exponent", "clip_threshold"}) && !among(o, {"adafactor", "adafactor-torch"}))
    return only("adafactor or adafactor-torch");
  if (key.starts_with("muon_") && o != "muon") return only("muon");
  return "";
}

std::string why_schedule_ignores(const OptimizationConfig& c, const std::string& key) {
  const std::string& s = c.schedule;
  if (key == "min_learning_rate" && among(s, {"inverse-sqrt", "constant", "one-cycle"}))
    return "the schedule " + s + " does not use it";
  if (key == "cosine_cycles" && s != "cosine") return only("the schedule cosine");
  if (key == "restarts" && s != "cosine-restarts") return only("the schedule cosine-restarts");
  if (key == "power" && s != "polynomial") return only("the schedule polynomial");
  if (among(key, {"decay_steps", "decay_shape"}) && s != "warmup-stable-decay")
    return only("the schedule warmup-stable-decay");
  if (among(key, {"start_divisor", "end_divisor"}) && s != "one-cycle") return only("the schedule one-cycle");
  return "";
}

std::int64_t decay_steps(const OptimizationConfig& c, std::int64_t max_steps) {
  return c.decay_steps > 0 ? c.decay_steps : std::max<std::int64_t>(max_steps / 10, 1);
}

}  // namespace

void add_optimization_fields(std::vector<Field>& list, OptimizationConfig& config) {
  Fields fields{list};
  add_optimizer(fields, config);
  add_special(fields, config);
  add_schedule(fields, config);
  add_stability(fields, config);
}

std::string why_unused_in_optimization(const OptimizationConfig& config, const std::string& key) {
  if (const std::string reason = why_optimizer_ignores(config, key); !reason.empty()) return reason;
  if (const std::string reason = why_schedule_ignores(config, key); !reason.empty()) return reason;
  if (key == "clip_norm_type" && config.clip_norm == 0.0) return "'training.clip_norm' is 0";
  if (key == "ema_warmup" && config.ema_decay == 0.0) return "'training.ema_decay' is 0";
  return "";
}

void check_optimization(const OptimizationConfig& config, std::int64_t max_steps) {
  if (config.betas.size() != 2)
    throw usage_error("'training.betas' has a wrong length")
        .found(counted(config.betas.size(), "number"))
        .expected("2 numbers");
  const bool ends = !among(config.schedule, {"inverse-sqrt", "constant"});
  if (ends && max_steps == 0)
    throw usage_error("the schedule '" + config.schedule + "' requires 'training.max_steps'")
        .remedy("Set 'training.max_steps', or the schedule inverse-sqrt or constant");
  if (ends && config.warmup_steps >= max_steps)
    throw usage_error("'training.warmup_steps' is not less than 'training.max_steps'")
        .found(counted(config.warmup_steps, "step"))
        .expected(fmt::format("less than {} steps", max_steps));
  if (config.schedule == "warmup-stable-decay" &&
      config.warmup_steps + decay_steps(config, max_steps) > max_steps)
    throw usage_error(
        "'training.warmup_steps' and 'training.decay_steps' together exceed the steps of the run")
        .found(fmt::format("{} + {} steps", config.warmup_steps, decay_steps(config, max_steps)))
        .expected(fmt::format("at most {} steps together", max_steps));
  if (config.min_learning_rate > config.learning_rate)
    throw usage_error("'training.min_learning_rate' is above 'training.learning_rate'")
        .found(fmt::format("{}", config.min_learning_rate))
        .expected(fmt::format("at most {}", config.learning_rate));
  if (config.nesterov && config.momentum == 0.0)
    throw usage_error("'training.nesterov' requires 'training.momentum'")
        .found("momentum 0")
        .expected("momentum above 0");
  if (config.muon_learning_rate > 0.0 && config.learning_rate == 0.0)
    throw usage_error("'training.muon_learning_rate' requires 'training.learning_rate'")
        .found("learning_rate 0")
        .expected("learning_rate above 0");
}

OptimizerOptions optimizer_options(const OptimizationConfig& config) {
  OptimizerOptions options;
  options.method = config.optimizer;
  options.beta1 = config.betas[0];
  options.beta2 = config.betas[1];
  options.epsilon = config.epsilon;
  options.weight_decay = config.weight_decay;
  options.decay_all = config.decay == "all";
  options.momentum = config.momentum;
  options.nesterov = config.nesterov;
  options.smoothing = config.smoothing;
  options.rate_decay = config.rate_decay;
  options.adafactor = config.adafactor;
  options.muon.momentum = config.muon_momentum;
  options.muon.match_adamw = config.muon_scale == "match-adamw";
  if (config.muon_learning_rate > 0.0)
    options.muon.rate_ratio = config.muon_learning_rate / config.learning_rate;
  return options;
}

NormType clip_norm_type(const OptimizationConfig& config) {
  if (config.clip_norm_type == "1") return NormType::one;
  return config.clip_norm_type == "inf" ? NormType::infinity : NormType::two;
}

Schedule schedule_of(const OptimizationConfig& config, std::int64_t max_steps) {
  return {.kind = value_of(kSchedules, config.schedule),
          .peak = config.learning_rate,
          .floor = config.min_learning_rate,
          .warmup = config.warmup_steps,
          .max_steps = max_steps,
          .cycles = config.cosine_cycles,
          .restarts = config.restarts,
          .power = config.power,
          .decay_steps = decay_steps(config, max_steps),
          .decay_shape = value_of(kShapes, config.decay_shape),
          .start_divisor = config.start_divisor,
          .end_divisor = config.end_divisor};
}

}  // namespace regard::train
