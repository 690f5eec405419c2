// Tape: records operations for reverse-mode differentiation.
//
// An operation is a function that takes the tape and variables, computes its value immediately, and records a
// node with its backward function. Variables and nodes are stored in the arena; once the arena has grown,
// nothing is allocated.
//
// Gradient convention: a parameter's gradient accumulates over backward passes until it is cleared. The
// gradient of an activation is assigned by the first consumer whose backward runs, and added to by the others
// (Gradient::accumulate).
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/random.h"
#include "base/thread_pool.h"
#include "ops/probe.h"
#include "regard/tensor.h"
#include "tensor/arena.h"

namespace regard {

// A value with a gradient. Variables of activations are stored in the arena; a Parameter contains its own.
struct Variable {
  Tensor value;
  Tensor gradient;  // defined once a backward function wrote to it (parameters: always, if trainable)
  bool needs_gradient = false;
  bool gradient_started = false;  // the next writer must add, not assign
  // True if the tape may recycle the memory after its last use.
  bool owns_value = false, owns_gradient = false;
};
using Var = Variable*;

// Several weights stored as rows of one block, so that one matrix product computes them all (query, key,
// value). Operations use the block; the weights' values and gradients are views of its rows.
struct ParameterBlock {
  Variable variable;
  int trainable_parts = 0;
};

// Return a tensor with a shape but no memory.
Tensor declared(Shape shape);

// Initial value of a weight; random values depend only on the seed and the weight's name.
struct Initialisation {
  enum class Kind : std::uint8_t {
    zeros,
    ones,
    normal,          // mean 0, standard deviation `value`
    xavier_uniform,  // in ±√(6 / (rows + columns)) (Glorot and Bengio 2010)
  };
  Kind kind = Kind::zeros;
  double value = 0.0;
};

// A weight. Its name is the name in the checkpoint. A module only declares its weights: their values have a
// shape but no memory (Tensor::defined() is false) until allocate() or adopt(). The gradient is defined if
// and only if the weight is trainable, and accumulates over backward passes. Value and gradient are
// contiguous.
struct Parameter {
  Parameter() = default;
  Parameter(const Parameter&) = delete;
  Parameter& operator=(const Parameter&) = delete;

  std::string name;
  Variable variable;
  Initialisation initial;
  ParameterBlock* block = nullptr;  // null: not part of a block
  std::int64_t first_row = 0;       // in the block
  bool mapped = false;              // the value is a read-only view of a file's bytes
  // Shape in a checkpoint, if it differs from the value's: [1, n] for a vector, [out, channels, rows,
  // columns] for a convolution over patches. Rank 0: the value's shape. Number and order of elements are the
  // same.
  Shape stored_shape;
  DType stored_dtype = DType::f32;

  // How a layer uses the weight; `other` weights cannot be held in a smaller type.
  enum class Use : std::uint8_t {
    other,
    linear,             // [out, in]
    transposed_linear,  // [in, out]
    table,              // [count, size], one row per id
  };
  Use use = Use::other;

  // A weight for inference only, without an f32 value: f32, f16 or bf16 as in the file, or i8, where the
  // value is number · scale of the output ([out, in]: of the row). The layer may pack it and then drop these
  // numbers.
  struct Held {
    Tensor numbers, scale;         // the value's shape; [outputs], i8 only
    DType dtype = DType::f32;      // stays set after the numbers are dropped
    std::function<void()> let_go;  // releases the file's pages that contain the numbers; may be empty
  };
  Held held;
  bool is_held() const { return held_; }
  static Tensor widened(const Held& held, Use use);  // the value of `held` as f32
  std::int64_t outputs() const;                      // rows, or columns if transposed
  void hold(Held numbers);                           // drops the value
  Tensor widened() const;  // the value as f32; throws usage if the numbers were dropped

  const Tensor& value() const { return variable.value; }
  const Tensor& gradient() const { return variable.gradient; }
  bool trainable() const { return variable.needs_gradient; }
  void allocate();                   // allocate zeros; no effect if the value already has memory
  void adopt(const Tensor& stored);  // f32 with the same number of elements: viewed if possible, else copied
  void set_trainable(bool trainable);  // allocate a zero gradient, or drop it; true copies a mapped value
  void clear_gradient();               // zeros

 private:
  void own();
  bool held_ = false;
};

// The shape of a ragged batch: concatenated sequences without padding.
struct Ragged {
  std::span<const std::int32_t> offsets;    // [sequences + 1], offsets[0] = 0
  std::span<const std::int32_t> positions;  // [tokens]: each token's position in its sequence
  std::span<const std::uint64_t>
      sequence_index;  // [tokens]: index in the global batch of the token's sequence

  std::int64_t sequences() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  std::int64_t tokens() const { return offsets.empty() ? 0 : offsets.back(); }
};

class Tape {
 public:
  struct Options {
    bool record = false;    // record nodes and keep what the backward pass needs
    bool training = false;  // apply dropout
    bool keep = false;      // keep all values and gradients readable after backward(); needs more memory
    std::uint64_t seed = 0, step = 0;  // keys of the random draws
  };

  Tape(ThreadPool& pool, Arena& arena) : pool_(pool), arena_(arena) {}

  ThreadPool& pool() { return pool_; }
  Arena& arena() { return arena_; }
  const Options& options() const { return options_; }
  bool recording() const { return options_.record; }
  RandomKey key(std::uint32_t place) const { return {options_.seed, options_.step, place}; }

  Probe* probe = nullptr;  // may be null

  // Discard all variables and nodes and reset the arena.
  void begin(const Options& options);

  Var constant(const Tensor& value);                    // no gradient; views value
  Var make(Shape shape, bool needs_gradient);           // an activation, contiguous, uninitialised
  Var input(const Tensor& value, bool needs_gradient);  // views value; gradient readable after backward()
  Var alias(Var other, bool needs_gradient);            // shares other's memory, with a separate gradient

  // A node is a struct derived from Tape::Node with a static function `void backward(NodeT&, Tape&)`. `out`
  // and `other_out` are the variables that it made. Their consumers were recorded later, so after the node's
  // backward has run, their memory is recycled for further gradients.
  struct Node {
    void (*run)(Node& node, Tape& tape) = nullptr;
    Node* previous = nullptr;
    Var out = nullptr;
    Var other_out = nullptr;  // if it made two variables
  };
  template <class NodeT>
  NodeT* record(NodeT node) {
    static_assert(std::is_base_of_v<Node, NodeT>);
    NodeT* kept = arena_.make<NodeT>(std::move(node));
    kept->run = [](Node& base, Tape& tape) { NodeT::backward(static_cast<NodeT&>(base), tape); };
    kept->previous = last_;
    last_ = kept;
    return kept;
  }

  // Destination for the gradient of `variable`, allocated from the tape if necessary. accumulate: the caller
  // must add to it instead of assigning.
  struct Gradient {
    float* data = nullptr;  // contiguous, the variable's shape; null: no gradient needed
    bool accumulate = false;
  };
  Gradient gradient(Var variable);

  // Return a variable whose gradient equals that of `out` and may be overwritten and passed on by the node
  // that made `out`: `out` itself, or an alias with a copied gradient under Options::keep.
  Var consume(Var out);

  // Add the gradient of `from`, a result of consume(), to that of `to`, which has the same number of
  // elements. If `to` has no gradient yet, transfer the memory instead of copying.
  void pass_gradient(Var from, Var to);

  // The same, but always copy or add: `from` keeps its gradient.
  void add_gradient(Var from, Var to);

  // For kernels that only accumulate: the gradient's memory, cleared if nothing was written yet; null: not
  // needed.
  float* accumulated(Var variable);

  // Take memory for `count` floats during the backward pass (recycled if possible), and return it.
  float* take(std::int64_t count);
  void recycle(float* memory, std::int64_t count);

  // Run the backward pass from `loss` (any shape; its gradient starts as ones unless it was set before).
  // Afterwards the gradients of parameters and inputs and the value of `loss` are valid; values and gradients
  // of intermediate variables only with Options::keep.
  void backward(Var loss);

  // Return whether a value computed from these inputs (null: absent) needs a gradient, so a node must be
  // recorded.
  bool wanted(std::initializer_list<Var> inputs) const;

 private:
  struct FreeBlock {
    float* memory;
    std::int64_t count;
  };
  Var make(const Tensor& view, bool needs_gradient);
  void release(Var variable, Var kept);

  ThreadPool& pool_;
  Arena& arena_;
  Options options_;
  Node* last_ = nullptr;
  std::vector<FreeBlock> free_;
};

}  // namespace regard
