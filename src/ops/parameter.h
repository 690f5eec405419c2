// Parameter: a weight with its name in the checkpoint, its initialisation and its gradient.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/namespaces.h"
#include "kernels/precision.h"
#include "ops/variable.h"
#include "regard/tensor.h"

namespace regard::ops {

// Several weights (such as query, key and value) stored as rows of one block, so that one matrix product
// computes the outputs of all of them. Operations use the block; the weights' values and gradients are views
// of its rows.
struct ParameterBlock {
  Variable variable;
  int trainable_parts = 0;
};

// Return a tensor with a shape but no memory.
Tensor declared(Shape shape);

// Initial value of a weight. Random values depend only on the seed and the weight's name.
struct Initialisation {
  enum class Kind : std::uint8_t {
    zeros,
    ones,
    constant,        // `value`
    normal,          // mean 0, standard deviation `value`
    xavier_uniform,  // uniform in ±√(6 / (rows + columns)) (Glorot and Bengio 2010)
  };
  Kind kind = Kind::zeros;
  double value = 0.0;
};

// A weight. Modules only declare weights: a value has a shape but no memory (Tensor::defined() is false)
// until allocate() or adopt() is called.
struct Parameter {
  Parameter() = default;
  Parameter(const Parameter&) = delete;
  Parameter& operator=(const Parameter&) = delete;

  std::string name;  // name in the checkpoint
  // Value and gradient, both contiguous. The gradient is defined if and only if the weight is trainable, and
  // accumulates over backward passes.
  Variable variable;
  Initialisation initial;
  ParameterBlock* block = nullptr;  // block that contains the weight; null if there is none
  std::int64_t first_row = 0;       // first row in the block
  bool mapped = false;              // true if the value is a read-only view of a mapped file
  // Shape in a checkpoint, for example [1, n] for a vector, or [out, channels, rows, columns] for a
  // convolution over patches. Rank 0 means the shape of the value.
  Shape stored_shape;
  DType stored_dtype = DType::f32;

  // Layout of the weight in its layer. A weight with Use::other cannot be stored in a smaller type.
  enum class Use : std::uint8_t {
    other,
    linear,             // [out, in]
    transposed_linear,  // [in, out]
    table,              // [count, size], one row per id
  };
  Use use = Use::other;

  // The data of a weight that is used for inference only; the `variable` of such a weight has no memory. The
  // layer may pack the weight and then release the numbers.
  struct Held {
    // numbers: the shape of the value; f32, f16 or bf16 as in the file, or i8. scale: [outputs], only for i8;
    // numbers of output feature i are multiplied by scale[i].
    Tensor numbers, scale;
    DType dtype = DType::f32;  // dtype of the numbers; remains set after they are freed
    // precision of products with the weight; bf16 (kernels/bf16.h) requires numbers in bf16
    kernels::Precision precision = kernels::Precision::f32;
    std::function<void()> let_go;  // releases the mapped pages that contain the numbers; may be empty
  };
  Held held;
  bool is_held() const { return held_; }
  static Tensor widened(const Held& held, Use use);  // return the value stored in `held`, as f32
  std::int64_t outputs() const;  // number of output features of the layer: rows, or columns if transposed
  void hold(Held numbers);       // store `numbers` for inference and discard the value
  Tensor widened() const;        // return the value as f32; throws usage if the numbers were released

  const Tensor& value() const { return variable.value; }
  const Tensor& gradient() const { return variable.gradient; }
  bool trainable() const { return variable.needs_gradient; }
  void allocate();  // allocate zeros; no effect if the value already has memory
  // use `stored` (f32, same number of elements) as the value: a view if possible, otherwise a copy
  void adopt(const Tensor& stored);
  // if true, allocate a zero gradient and copy a mapped value; if false, free the gradient
  void set_trainable(bool trainable);
  void clear_gradient();  // set the gradient to zeros

 private:
  void own();
  bool held_ = false;
};

}  // namespace regard::ops
