// A tape and small inputs, for tests that compare the messages of refused inputs.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "ops/tape.h"
#include "support/namespaces.h"
#include "support/throws.h"

namespace regard::testing {

using Numbers32 = std::vector<std::int32_t>;

class RefusedInputs : public ::testing::Test {
 protected:
  RefusedInputs() { tape_.begin({}); }

  Var zeros(Shape shape) { return tape_.constant(values_.emplace_back(Tensor::zeros(shape))); }
  Var halves(Shape shape) { return tape_.constant(tape_.arena().tensor(shape, DType::bf16)); }
  // Return a matrix of this shape whose rows are not contiguous.
  Var strided(std::int64_t rows, std::int64_t columns) {
    return tape_.constant(values_.emplace_back(Tensor::zeros({rows, columns + 1})).slice_columns(0, columns));
  }
  template <class Call>
  void expect(const std::string& message, Call&& call, ErrorKind kind = ErrorKind::usage) {
    expect_error_text(kind, message, call);
  }

  ThreadPool pool_{1};
  Arena arena_;
  Tape tape_{pool_, arena_};
  std::deque<Tensor> values_;  // constants of the tape refer to this memory
  const Numbers32 none_, whole_{0, 3}, late_{1, 3}, short_{0, 2}, falling_{0, 4, 2, 3};
};

}  // namespace regard::testing
