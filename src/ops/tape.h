// Tape: records operations for reverse-mode differentiation. An operation computes its value immediately and
// records a node with its backward function; variables and nodes are stored in the arena.
//
// A parameter's gradient accumulates over backward passes until it is cleared. The gradient of an activation
// is overwritten by the first consumer whose backward function runs; the other consumers add to it
// (Gradient::accumulate).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <vector>

#include "base/namespaces.h"
#include "base/random.h"
#include "base/thread_pool.h"
#include "kernels/precision.h"
#include "ops/probe.h"
#include "ops/variable.h"
#include "regard/tensor.h"
#include "tensor/arena.h"

namespace regard::ops {

class Tape {
 public:
  struct Options {
    bool record = false;    // record nodes, and keep the values that the backward pass reads
    bool training = false;  // apply dropout
    bool keep = false;      // keep all values and gradients readable after backward(); uses more memory
    std::uint64_t seed = 0, step = 0;  // seed and step number; they determine the random draws
    bool checkpoint = false;           // recompute layers in the backward pass (ops/checkpoint.h)
    kernels::Precision precision = kernels::Precision::f32;  // precision of matrix products (ops/product.h)
  };

  Tape(ThreadPool& pool, Arena& arena) : pool_(pool), arena_(arena) {}

  ThreadPool& pool() { return pool_; }
  Arena& arena() { return in_segment_ ? segment_ : arena_; }
  const Options& options() const { return options_; }
  bool recording() const { return options_.record; }
  RandomKey key(std::uint32_t place) const {
    return {options_.seed ^ pass_ * 0x9E3779B97F4A7C15u, options_.step, place};
  }

  // Index of this forward pass among the passes over the same batch (R-Drop runs two); begin() sets it to 0.
  // Passes with different indices have different random draws.
  std::uint64_t pass() const { return pass_; }
  void set_pass(std::uint64_t pass) { pass_ = pass; }

  Probe* probe = nullptr;  // observes values at probe points; may be null

  // Discard all variables and nodes and reset the arena.
  void begin(const Options& options);

  // return a variable without gradient; it refers to the memory of `value`
  Var constant(const Tensor& value);
  Var make(Shape shape, bool needs_gradient);  // return a contiguous, uninitialised activation
  // return a variable that refers to `value`; its gradient is kept after backward()
  Var input(const Tensor& value, bool needs_gradient);
  // return a variable that shares the memory of `other` but has its own gradient
  Var alias(Var other, bool needs_gradient);

  // A node is a struct derived from Tape::Node with a static function `void backward(NodeT&, Tape&)`, which
  // is called only if has_gradient().
  struct Node {
    void (*run)(Node& node, Tape& tape) = nullptr;
    Node* previous = nullptr;
    // Result of the operation. Its memory is recycled as soon as this node's backward function has run,
    // because the backward functions of its consumers run earlier.
    Var out = nullptr;
    // Return true if `out` has a gradient or is null. A node with several results hides this function.
    bool has_gradient() const { return out == nullptr || out->gradient_started; }
  };
  template <class NodeT>
  NodeT* record(NodeT node) {
    static_assert(std::is_base_of_v<Node, NodeT>);
    NodeT* kept = arena().make<NodeT>(std::move(node));
    kept->run = [](Node& base, Tape& tape) {
      auto& self = static_cast<NodeT&>(base);
      if (self.has_gradient()) NodeT::backward(self, tape);
    };
    kept->previous = last_;
    last_ = kept;
    return kept;
  }

  // Destination of the gradient of `variable`, allocated by the tape if necessary. If `accumulate` is true,
  // the caller must add to the memory at `data`; otherwise, the caller must overwrite it.
  struct Gradient {
    float* data = nullptr;  // memory with the variable's shape, contiguous; null if no gradient is needed
    bool accumulate = false;
  };
  Gradient gradient(Var variable);

  // Call this in the backward function of the node that computed `out`. Return a variable with the gradient
  // of `out`; the caller may overwrite this gradient and pass it to an input. The result is `out` itself or,
  // with Options::keep, an alias with a copy of the gradient.
  Var consume(Var out);

  // Add the gradient of `from`, a result of consume(), to the gradient of `to`, which has the same number of
  // elements. If `to` has no gradient yet, transfer the memory instead of copying.
  void pass_gradient(Var from, Var to);

  // Like pass_gradient(), but always copy: `from` keeps its gradient.
  void add_gradient(Var from, Var to);

  // Return the memory of the variable's gradient, for kernels that add to the gradient; null if no gradient
  // is needed. If the gradient has not been written yet, it is set to zero first.
  float* accumulated(Var variable);

  // Return memory for `count` floats during the backward pass, recycled if possible.
  float* take(std::int64_t count);
  void recycle(float* memory, std::int64_t count);

  // Run the backward pass from `loss` (any shape). Default gradient of `loss`: ones. Afterwards, the value of
  // `loss` and the gradients of parameters and inputs are valid; values and gradients of intermediate
  // variables are valid only with Options::keep.
  void backward(Var loss);

  // While this object exists, new values and nodes are stored in separate memory, which is freed with the
  // object; segments cannot be nested. Gradients of variables created before the segment remain valid.
  class Segment {
   public:
    explicit Segment(Tape& tape);
    ~Segment();
    Segment(const Segment&) = delete;
    Var kept(Var value);  // return a copy of `value` that stays valid after the segment
    // run the backward functions of the segment's nodes; `from` receives the gradient of `out`
    void backward(Var from, Var out);

   private:
    Tape& tape_;
    Node* before_;
  };
  bool in_segment() const { return in_segment_; }
  std::size_t segment_bytes() const { return segment_.touched(); }  // bytes of memory used by segments

  // Return true if a value computed from these inputs requires a gradient, so that a node must be recorded.
  // Null inputs are ignored.
  bool wanted(std::initializer_list<Var> inputs) const;

 private:
  struct FreeBlock {
    float* memory;
    std::int64_t count;
  };
  Var make(const Tensor& view, bool needs_gradient);
  void release(Var variable, Var kept);
  void run_nodes(Var kept);

  ThreadPool& pool_;
  Arena& arena_;
  Arena segment_;
  bool in_segment_ = false;
  std::uint64_t pass_ = 0;
  Options options_;
  Node* last_ = nullptr;
  std::vector<FreeBlock> free_;
};

}  // namespace regard::ops
