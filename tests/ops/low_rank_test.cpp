// Value and gradients of low-rank updates compared with the reference implementation, for one and for several
// updates of a product.
#include "ops/low_rank.h"

#include <gtest/gtest.h>

#include "kernels/isa_fixture.h"
#include "ops/plain/low_rank.h"
#include "ops/scale.h"
#include "support/namespaces.h"
#include "support/operation_case.h"
#include "support/throws.h"
#include "tensor/arena.h"

namespace regard::testing {
namespace {

using testing::Numbers;
using Inputs = std::span<const Numbers>;
using Vars = std::span<const Var>;

class LowRank : public testing::EachIsa {};

TEST_P(LowRank, EqualsTheReference) {
  const plain::LowRank shapes[] = {
      {1, 1, 1, 1, 1, 0}, {7, 13, 3, 9, 9, 0}, {40, 33, 8, 17, 50, 20}, {5, 64, 16, 8, 24, 16}};
  for (const plain::LowRank& s : shapes) {
    testing::OperationCase update;
    update.name = "add_low_rank";
    update.inputs = {{s.tokens, s.in}, {s.rank, s.in}, {s.out, s.rank}, {s.tokens, s.features}};
    update.operation = [s](Tape& tape, Vars v) {
      // The operation works in place, so it gets a copy of y.
      const Var y = ops::scale(tape, v[3], 1.0f);
      return ops::add_low_rank(tape, v[0], y, {.a = v[1], .b = v[2], .column = s.column, .scale = 0.5f});
    };
    update.plain = [s](Inputs v) {
      Numbers y = v[3];
      plain::add_low_rank<double>(s, 0.5, v[0].data(), v[1].data(), v[2].data(), y.data());
      return y;
    };
    update.input_scale = 0.7;
    testing::check_operation(update, static_cast<std::uint64_t>(s.tokens * 100 + s.rank));
  }
}

TEST_P(LowRank, SeveralUpdatesOfOneProduct) {
  constexpr plain::LowRank kFirst{6, 10, 2, 4, 12, 0}, kSecond{6, 10, 3, 5, 12, 7};
  testing::OperationCase updates;
  updates.name = "add_low_rank";
  updates.inputs = {{6, 10}, {2, 10}, {4, 2}, {3, 10}, {5, 3}, {6, 12}};
  updates.operation = [=](Tape& tape, Vars v) {
    Var y = ops::scale(tape, v[5], 1.0f);
    y = ops::add_low_rank(tape, v[0], y, {.a = v[1], .b = v[2], .column = 0, .scale = 2.0f});
    return ops::add_low_rank(tape, v[0], y, {.a = v[3], .b = v[4], .column = 7, .scale = 1.0f});
  };
  updates.plain = [=](Inputs v) {
    Numbers y = v[5];
    plain::add_low_rank<double>(kFirst, 2.0, v[0].data(), v[1].data(), v[2].data(), y.data());
    plain::add_low_rank<double>(kSecond, 1.0, v[0].data(), v[3].data(), v[4].data(), y.data());
    return y;
  };
  testing::check_operation(updates, 5);
}

TEST(LowRankShapes, MustFit) {
  ThreadPool pool(1);
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({});
  const Var x = tape.make({2, 3}, false), y = tape.make({2, 4}, false);
  const Var a = tape.make({2, 3}, false), b = tape.make({4, 2}, false);
  EXPECT_REGARD_ERROR(ops::add_low_rank(tape, x, y, {.a = b, .b = a}), ErrorKind::usage, "add_low_rank");
  EXPECT_REGARD_ERROR(ops::add_low_rank(tape, x, y, {.a = a, .b = b, .column = 1}), ErrorKind::usage,
                      "add_low_rank");
}

REGARD_EACH_ISA(LowRank);

}  // namespace
}  // namespace regard::testing
