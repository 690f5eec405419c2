// Base class of the optimisers, which update trained weights with their gradients. make_optimizer()
// constructs the optimiser of a method; updates are bit-identical for any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "formats/safetensors.h"
#include "ops/parameter.h"

namespace regard::train {

// Options of Adafactor (adafactor.h).
struct AdafactorOptions {
  bool scale_parameter = false;  // multiply the learning rate by the root mean square of the weight
  bool relative_step = false;    // use min(0.01, 1 / √step) instead of the learning rate
  bool warmup_init = false;      // with relative_step: use min(1e-6 · step, 1 / √step) as learning rate
  double first_moment = 0.0;     // decay of the moving average of updates; 0 means no moving average
  double decay_exponent = 0.8;   // beta2 of step t is 1 − t^−decay_exponent
  double clip_threshold = 1.0;   // maximum root mean square of an update
  double epsilon = 1e-30;        // constant added to squared gradients; not used by adafactor-torch
  double smallest_scale = 1e-3;  // lower bound of the root mean square of the weight
};

// Options of Muon (muon.h).
struct MuonOptions {
  double rate_ratio = 1.0;  // learning rate of the hidden matrices / learning rate of the other weights
  double momentum = 0.95;
  bool nesterov = true;
  bool match_adamw = false;  // multiply updates by 0.2 √max(rows, columns) instead of √max(1, rows / columns)
  int iterations = 5;
};

struct OptimizerOptions {
  // one of adamw, adam, sgd, adafactor, adafactor-torch, muon, rmsprop, adagrad
  std::string method = "adamw";
  double beta1 = 0.9, beta2 = 0.999;  // decay rates of the moving averages; used by adam, adamw and muon
  double epsilon = 1e-8;  // constant added to a denominator; not used by sgd, adafactor and adafactor-torch
  // Weight decay. It is decoupled (adamw, muon, adafactor) or added to the gradient (adam, sgd, rmsprop,
  // adagrad).
  double weight_decay = 0.0;
  bool decay_all = false;   // if false, weight decay applies only to weights with at least two dimensions
  double momentum = 0.0;    // decay of the momentum buffer; used by sgd and rmsprop
  bool nesterov = false;    // Nesterov's momentum; used by sgd
  double smoothing = 0.99;  // rmsprop: decay of the moving average of the squared gradient
  double rate_decay = 0.0;  // adagrad: the learning rate is divided by 1 + rate_decay · (step − 1)
  AdafactorOptions adafactor;
  MuonOptions muon;
};

// Return the names of all optimisation methods, such as "adamw".
const std::vector<std::string>& optimizer_names();

class Optimizer {
 public:
  struct State {
    const char* kind;
    Tensor tensor;
  };
  // A trained weight with its state.
  struct Slot {
    Parameter* parameter;
    double weight_decay;  // weight decay of this weight; 0 if none applies
    double rate_factor;   // factor of the learning rate
    std::vector<State> state;

    float* weight() const { return parameter->value().f32(); }
    const float* gradient() const { return parameter->gradient().f32(); }
    float* of(std::size_t which) const { return state[which].tensor.f32(); }
    std::int64_t elements() const { return parameter->value().elements(); }
    const Shape& shape() const { return parameter->value().shape(); }
    // Add a state tensor that is filled with zeros.
    void add_state(const char* kind, const Shape& shape) { state.push_back({kind, Tensor::zeros(shape)}); }
  };
  struct Step {
    double learning_rate, gradient_scale;
    std::int64_t number;  // number of the step, from 1
  };

  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Update the weights with their gradients multiplied by gradient_scale. Does not allocate memory after the
  // first step.
  void step(ThreadPool& pool, double learning_rate, double gradient_scale);
  std::int64_t steps() const { return steps_; }  // number of updates so far
  // Return the learning rate of the next step: `scheduled`, unless the method sets its own rate.
  virtual double rate(double scheduled) const { return scheduled; }

  // Return views of the state as tensors "KIND.NAME" (such as "first.NAME"), valid for the lifetime of this
  // object.
  std::vector<formats::NamedTensor> state() const;
  // Load the state and set the number of steps. Throws bad_file if a tensor is missing or does not have the
  // expected shape and type float32.
  void restore(const formats::SafetensorsFile& file, std::int64_t steps);

 protected:
  // The parameters must outlive this object; parameters that are not trainable are ignored. `rate_factors`
  // contains one factor of the learning rate per parameter; if it is empty, all factors are 1.
  Optimizer(std::span<Parameter* const> parameters, const OptimizerOptions& options,
            std::span<const double> rate_factors);
  std::vector<Slot>& slots() { return slots_; }
  const OptimizerOptions& options() const { return options_; }

  // Update one weight. step.learning_rate includes rate_factor.
  virtual void update(ThreadPool& pool, Slot& slot, const Step& step) = 0;

 private:
  std::vector<Slot> slots_;
  OptimizerOptions options_;
  std::int64_t steps_ = 0;
};

// Return an optimiser of the method options.method. Throws usage if the method is unknown. See the
// constructor of Optimizer for the arguments.
std::unique_ptr<Optimizer> make_optimizer(std::span<Parameter* const> parameters,
                                          const OptimizerOptions& options,
                                          std::span<const double> rate_factors = {});

}  // namespace regard::train
