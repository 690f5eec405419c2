// The tape: what was computed, so that gradients can be carried back through it.
//
// An operation is a function that takes the tape and variables, computes its value at once, and records a
// node that knows how to go back. Variables and nodes live in the arena; nothing here allocates once the
// arena has grown.
//
// Gradient convention: a parameter's gradient accumulates over backward passes until it is cleared; the
// gradient of an activation is assigned by the first consumer that goes back and added to by the others
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

// A value with a gradient. Activations live in the arena; a Parameter holds one of its own.
struct Variable {
  Tensor value;
  Tensor gradient;  // defined once something went back into it (parameters: always, if trainable)
  bool needs_gradient = false;
  bool gradient_started = false;  // the next writer must add, not assign
  // Whether the memory is the tape's to give to others once nobody needs it any more.
  bool owns_value = false, owns_gradient = false;
};
using Var = Variable*;

// Several weights in one block of rows, so that one matrix product serves them all (query, key, value).
// Operations use the block; the weights' values and gradients are rows of it.
struct ParameterBlock {
  Variable variable;
  int trainable_parts = 0;
};

// A tensor that has a shape and no memory yet.
Tensor declared(Shape shape);

// How a weight is set before training, from the seed and its name alone.
struct Initialisation {
  enum class Kind : std::uint8_t {
    zeros,
    ones,
    normal,          // mean 0, deviation `value`
    xavier_uniform,  // in ±√(6 / (rows + columns)) (Glorot and Bengio 2010)
  };
  Kind kind = Kind::zeros;
  double value = 0.0;
};

// A weight. Its name is the checkpoint's. A module only declares its weights: their values have shapes but no
// memory (Tensor::defined() is false) until allocate() or adopt(). Its gradient is defined exactly while it
// is trainable, accumulates over backward passes, and is contiguous, as its value is.
struct Parameter {
  Parameter() = default;
  Parameter(const Parameter&) = delete;
  Parameter& operator=(const Parameter&) = delete;

  std::string name;
  Variable variable;
  Initialisation initial;
  ParameterBlock* block = nullptr;  // null: stands alone
  std::int64_t first_row = 0;       // in the block
  bool mapped = false;              // the value is a read-only view of a file's bytes
  // How a checkpoint has it, where not as the value is: [1, n] for a vector, [out, channels, rows, columns]
  // for a convolution over patches. Rank 0: as the value. The elements are as many and in the same order.
  Shape stored_shape;
  DType stored_dtype = DType::f32;

  // What a layer does with it, where it may be held as less than its value.
  enum class Use : std::uint8_t {
    other,
    linear,             // [out, in]
    transposed_linear,  // [in, out]
    table,              // [count, size], a row for each id
  };
  Use use = Use::other;

  // A weight for inference alone, which has no value: f32, f16 or bf16 as a file has it, or i8 that stands
  // for number · scale of its output ([out, in]: of its row). Its layer may rearrange it and drop this too.
  struct Held {
    Tensor numbers, scale;         // the value's shape; [outputs] or nothing
    DType dtype = DType::f32;      // also where the numbers are dropped
    std::function<void()> let_go;  // of the file's pages that the numbers lie in; may be empty
  };
  Held held;
  bool is_held() const { return held_; }
  static Tensor widened(const Held& held, Use use);  // what it stands for, as f32
  std::int64_t outputs() const;                      // rows, or columns of a transposed one
  void hold(Held numbers);                           // gives up the value
  Tensor widened() const;  // the value as f32; throws usage where the numbers were dropped

  const Tensor& value() const { return variable.value; }
  const Tensor& gradient() const { return variable.gradient; }
  bool trainable() const { return variable.needs_gradient; }
  void allocate();                     // memory of its own, zeros; as it is where it has some already
  void adopt(const Tensor& stored);    // f32, of as many elements: viewed where it can be, else copied
  void set_trainable(bool trainable);  // a gradient of zeros, or none; a mapped value becomes its own copy
  void clear_gradient();               // zeros

 private:
  void own();
  bool held_ = false;
};

// The shape of a ragged batch: sequences laid end to end.
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
    bool record = false;    // keep what the backward pass needs
    bool training = false;  // dropout acts
    bool keep = false;      // values and gradients of everything stay readable after backward(); costs memory
    std::uint64_t seed = 0, step = 0;  // keys of the random draws
  };

  Tape(ThreadPool& pool, Arena& arena) : pool_(pool), arena_(arena) {}

  ThreadPool& pool() { return pool_; }
  Arena& arena() { return arena_; }
  const Options& options() const { return options_; }
  bool recording() const { return options_.record; }
  RandomKey key(std::uint32_t place) const { return {options_.seed, options_.step, place}; }

  Probe* probe = nullptr;  // may be null

  // Forgets every variable and node and resets the arena.
  void begin(const Options& options);

  Var constant(const Tensor& value);                    // no gradient; views value
  Var make(Shape shape, bool needs_gradient);           // an activation, contiguous, content undefined
  Var input(const Tensor& value, bool needs_gradient);  // views value; its gradient is there after backward
  Var alias(Var other, bool needs_gradient);            // the same memory, a gradient of its own

  // A node is a struct derived from Tape::Node with a static function `void backward(NodeT&, Tape&)`. It
  // names the variables that it made: when it has run, nobody needs their values and gradients any more (all
  // that used them were recorded later), and the memory goes to gradients still to come.
  struct Node {
    void (*run)(Node& node, Tape& tape) = nullptr;
    Node* previous = nullptr;
    Var out = nullptr;
    Var other_out = nullptr;  // where it made two
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

  // Where to write the gradient of `variable`: creates it (in the arena) if need be. accumulate: add to it.
  struct Gradient {
    float* data = nullptr;  // contiguous, the variable's shape; null: not wanted
    bool accumulate = false;
  };
  Gradient gradient(Var variable);

  // The variable that a node made, as one whose gradient the node may overwrite and pass on: itself, or a
  // copy where everything is kept.
  Var consume(Var out);

  // Adds the gradient of `from`, which was consumed, to that of `to`, which has as many elements. Where `to`
  // has none yet, it takes over the memory instead of a copy.
  void pass_gradient(Var from, Var to);

  // The same as a copy: `from` keeps its own.
  void add_gradient(Var from, Var to);

  // For kernels that only add: the gradient's memory, zeros where nothing went into it yet; null: not wanted.
  float* accumulated(Var variable);

  // Memory for `count` floats during the backward pass, and back: from what nodes behind us have left.
  float* take(std::int64_t count);
  void recycle(float* memory, std::int64_t count);

  // Walks back from `loss` (any shape; its gradient starts as ones, or is what was put into it before).
  // Afterwards the gradients of parameters and inputs and the value of `loss` are there; the values and
  // gradients of everything between only where the options say `keep`.
  void backward(Var loss);

  // Whether the value computed from these (null: absent) has a gradient: whether to record a node.
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
