// edit(): interventions on single rows and features, compared with their definition in double.
#include "ops/edit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "regard/error.h"
#include "support/namespaces.h"
#include "support/operation_case.h"

namespace regard::testing {
namespace {

using ops::Edit;

const float kOffset[] = {1.5f, -2.0f, 0.25f};

// Return edits of whole rows and of parts of rows; two of them overlap.
std::vector<Edit> some_edits() {
  return {{0, 1, 4, 0.0f, kOffset},
          {2, 0, 5, 0.5f, nullptr},
          {2, 2, 5, -2.0f, kOffset},
          {3, 0, 5, 0.0f, nullptr}};
}

TEST(EditRows, ValueAndGradientAreFactorTimesValuePlusOffset) {
  testing::OperationCase edits;
  edits.name = "edit";
  edits.inputs = {{4, 5}};
  edits.operation = [](Tape& tape, std::span<const Var> in) { return ops::edit(tape, in[0], some_edits()); };
  edits.plain = [](std::span<const testing::Numbers> in) {
    testing::Numbers out = in[0];
    for (const Edit& edit : some_edits())
      for (std::int64_t i = edit.begin; i < edit.end; ++i) {
        double& x = out[static_cast<std::size_t>(edit.row * 5 + i)];
        x = static_cast<double>(edit.factor) * x +
            (edit.offset == nullptr ? 0.0 : static_cast<double>(edit.offset[i - edit.begin]));
      }
    return out;
  };
  testing::check_operation(edits, 3);
}

TEST(EditRows, KeepsTheBitsOfTheOthersAndForgetsWhatAFactorOfZeroHides) {
  ThreadPool pool(1);
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Tensor x = Tensor::of({2, 3}, {-0.0f, nan, 1e-42f, nan, 2.0f, -0.0f});
  const std::vector<Edit> edits{{1, 0, 1, 0.0f, kOffset}};
  const Var y = ops::edit(tape, tape.constant(x), edits);
  x.row(1)[0] = kOffset[0];
  EXPECT_EQ(std::memcmp(y->value.f32(), x.f32(), x.bytes()), 0);
}

TEST(EditRows, RefusesPlacesOutsideOfTheMatrix) {
  ThreadPool pool(1);
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({});
  const Var x = tape.constant(arena.zeros({2, 3}));
  for (const Edit& edit :
       {Edit{2, 0, 1, 0.0f, nullptr}, Edit{0, 0, 4, 0.0f, nullptr}, Edit{0, 2, 1, 0.0f, nullptr},
        Edit{-1, 0, 1, 0.0f, nullptr}, Edit{0, -1, 1, 0.0f, nullptr}}) {
    const std::vector<Edit> edits{edit};
    EXPECT_THROW(ops::edit(tape, x, edits), Error);
  }
}

}  // namespace
}  // namespace regard::testing
