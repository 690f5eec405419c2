// Invalid calls throw an error with the operation's name and the shapes, before anything is computed.
#include <gtest/gtest.h>

#include <functional>

#include "ops/add.h"
#include "ops/attention.h"
#include "ops/cross_entropy.h"
#include "ops/dropout.h"
#include "ops/embedding.h"
#include "ops/linear.h"
#include "ops/norm.h"
#include "ops/padding.h"
#include "ops/rotary.h"
#include "ops/scale.h"
#include "ops/softmax.h"
#include "regard/error.h"
#include "support/namespaces.h"

namespace regard::testing {
namespace {

struct Misuse {
  const char* what;
  std::function<void(Tape&)> call;
  std::vector<std::string> named;  // parts of the expected message
  ErrorKind kind = ErrorKind::usage;
};

Var make(Tape& tape, Shape shape) {
  Var variable = tape.make(shape, false);
  std::fill_n(variable->value.f32(), shape.elements(), 1.0f);
  return variable;
}

const std::vector<std::int32_t> kIds{0, 3, 1}, kNegative{0, -1, 1};

RaggedBuffer three_tokens() {
  RaggedBuffer buffer;
  buffer.add(2, 0);
  buffer.add(1, 1);
  return buffer;
}

const Misuse kMisuses[] = {
    {"linear with another number of features",
     [](Tape& t) {
       ops::linear(t, make(t, {3, 4}), make(t, {2, 5}), nullptr);
     },
     {"linear", "[3, 4]", "[2, 5]"}},
    {"linear with a bias of another size",
     [](Tape& t) {
       ops::linear(t, make(t, {3, 4}), make(t, {2, 4}), make(t, {3}));
     },
     {"linear", "bias", "[3]", "2"}},
    {"linear with a residual of another shape",
     [](Tape& t) {
       ops::LinearOptions options;
       options.residual = make(t, {3, 4});
       ops::linear(t, make(t, {3, 4}), make(t, {2, 4}), nullptr, options);
     },
     {"linear", "residual", "[3, 4]", "[2, 4]"}},
    {"linear of a vector",
     [](Tape& t) {
       ops::linear(t, make(t, {4}), make(t, {2, 4}), nullptr);
     },
     {"linear", "x", "matrix", "[4]"}},
    {"embedding of an id beyond the table",
     [](Tape& t) {
       ops::embedding(t, make(t, {3, 4}), kIds);
     },
     {"embedding", "id 3", "index 1", "0 to 2"},
     ErrorKind::invalid_input},
    {"embedding of a negative id",
     [](Tape& t) {
       ops::embedding(t, make(t, {4, 4}), kNegative);
     },
     {"embedding", "id -1", "index 1"},
     ErrorKind::invalid_input},
    {"sum of two shapes",
     [](Tape& t) {
       ops::add(t, make(t, {3, 4}), make(t, {4, 3}));
     },
     {"add", "[3, 4]", "[4, 3]"}},
    {"norm with a gain of another size",
     [](Tape& t) {
       ops::norm(t, make(t, {3, 4}), make(t, {3}), nullptr);
     },
     {"norm", "gain", "[3]"}},
    {"RMS norm with a bias",
     [](Tape& t) {
       ops::norm(t, make(t, {3, 4}), nullptr, make(t, {4}),
                 {.epsilon = 1e-5f, .rms = true, .gain_offset = 0});
     },
     {"norm", "bias"}},
    {"softmax of a strided view",
     [](Tape& t) {
       ops::softmax(t, t.constant(make(t, {3, 4})->value.slice_columns(0, 2)));
     },
     {"softmax", "contiguous", "[3, 2]"}},
    {"dropout at rate one",
     [](Tape& t) {
       const RaggedBuffer batch = three_tokens();
       t.begin({.record = false, .training = true});
       ops::dropout(t, make(t, {3, 4}), batch.view(), {1.0f, 0});
     },
     {"dropout", "rate", "1.0"}},
    {"dropout of another batch",
     [](Tape& t) {
       const RaggedBuffer batch = three_tokens();
       t.begin({.record = false, .training = true});
       ops::dropout(t, make(t, {4, 4}), batch.view(), {0.5f, 0});
     },
     {"dropout", "3 rows", "[4, 4]"}},
    {"labels beyond the classes",
     [](Tape& t) {
       ops::cross_entropy(t, make(t, {3, 3}), kIds);
     },
     {"cross_entropy", "id 3", "0 to 2"},
     ErrorKind::invalid_input},
    {"too few labels",
     [](Tape& t) {
       ops::cross_entropy(t, make(t, {4, 5}), kIds);
     },
     {"cross_entropy", "3 labels", "4 labels"}},
    {"labels beyond the classes of a projection",
     [](Tape& t) {
       ops::linear_cross_entropy(t, make(t, {3, 2}), make(t, {3, 2}), nullptr, kIds);
     },
     {"cross_entropy", "id 3", "0 to 2"},
     ErrorKind::invalid_input},
    {"a projection of other features",
     [](Tape& t) {
       ops::linear_cross_entropy(t, make(t, {3, 2}), make(t, {9, 4}), nullptr, kIds);
     },
     {"cross_entropy", "[3, 2]", "[9, 4]"}},
    {"head factors that do not divide",
     [](Tape& t) {
       const std::array<float, 3> factors{1, 1, 1};
       ops::scale_heads(t, make(t, {3, 4}), factors);
     },
     {"scale_heads", "3 heads", "divisor of 4"}},
    {"key/value heads that do not divide",
     [](Tape& t) {
       const RaggedBuffer batch = three_tokens();
       ops::AttentionOptions options;
       options.heads = 3, options.kv_heads = 2, options.head_dim = 4;
       Var x = make(t, {3, 28});
       ops::attention(t, {x, 0}, {x, 12}, {x, 20}, batch.view(), batch.view(), options);
     },
     {"attention", "3 heads", "2 key/value heads"}},
    {"values outside the columns",
     [](Tape& t) {
       const RaggedBuffer batch = three_tokens();
       ops::AttentionOptions options;
       options.head_dim = 4;
       Var x = make(t, {3, 11});
       ops::attention(t, {x, 0}, {x, 4}, {x, 8}, batch.view(), batch.view(), options);
     },
     {"attention", "value", "feature 8", "[3, 11]"}},
    {"queries of another batch",
     [](Tape& t) {
       const RaggedBuffer batch = three_tokens();
       ops::AttentionOptions options;
       options.head_dim = 4;
       Var x = make(t, {4, 12});
       ops::attention(t, {x, 0}, {x, 4}, {x, 8}, batch.view(), batch.view(), options);
     },
     {"attention", "query", "3 rows", "[4, 12]"}},
    {"recording over a cache",
     [](Tape& t) {
       t.begin({.record = true});
       const RaggedBuffer batch = three_tokens();
       ops::AttentionOptions options;
       options.head_dim = 4;
       ops::attention_cached(t, {make(t, {3, 4})}, {}, batch.view(), options);
     },
     {"attention", "record"}},
    {"a rotary position beyond the table",
     [](Tape& t) {
       ops::RotaryTable table;
       table.cosine = table.sine = Tensor::zeros({3, 1});
       ops::rotary(t, make(t, {3, 4}), {0, 2, 2}, table, kIds);
     },
     {"rotary", "id 3", "0 to 2"},
     ErrorKind::invalid_input},
    {"a mask of another size",
     [](Tape&) { Padding(2, 3, std::vector<std::uint8_t>(5)); },
     {"mask", "5", "6"}},
};

TEST(Misuse, IsRefusedWithNameAndShapes) {
  ThreadPool pool(1);
  Arena arena;
  for (const Misuse& misuse : kMisuses) {
    Tape tape(pool, arena);
    tape.begin({});
    try {
      misuse.call(tape);
      ADD_FAILURE() << misuse.what << " was let pass";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), misuse.kind) << misuse.what;
      for (const std::string& part : misuse.named)
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
            << misuse.what << ": \"" << part << "\" is missing in: " << error.what();
    }
  }
}

}  // namespace
}  // namespace regard::testing
