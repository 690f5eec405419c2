// Inputs that do not fit an operation on rows, or a loss, are refused. Each case violates one condition and
// compares the whole message.
#include "ops/add.h"
#include "ops/assemble_rows.h"
#include "ops/binary_cross_entropy.h"
#include "ops/cross_entropy.h"
#include "ops/dropout.h"
#include "ops/edit.h"
#include "ops/join_columns.h"
#include "ops/join_rows.h"
#include "ops/margin_loss.h"
#include "ops/multiply.h"
#include "ops/padding.h"
#include "ops/pool_tokens.h"
#include "ops/recurrence.h"
#include "ops/rotary.h"
#include "ops/row_pairs.h"
#include "ops/row_products.h"
#include "ops/scale.h"
#include "ops/scale_exp.h"
#include "ops/span_cross_entropy.h"
#include "ops/squared_error.h"
#include "ops/symmetric_divergence.h"
#include "ops/view.h"
#include "ops/weighted_cross_entropy.h"
#include "ops/weighted_sum.h"
#include "ops/windows.h"
#include "refusal_fixture.h"

namespace regard::testing {
namespace {

TEST_F(RefusedInputs, OfRaggedBatches) {
  const Numbers32 positions{0, 1, 2}, few{0, 1};
  const std::vector<std::uint64_t> index{0, 0, 0}, few_index{0, 0};
  const auto pool = [&](const Ragged& shape) { ops::mean_over_time(tape_, zeros({3, 2}), shape); };
  pool({whole_, positions, index});
  const std::string start = "mean over time: invalid ragged batch: ";
  expect(start + "the first offset is not 0 (expected 0, found no offsets)", [&] {
    pool({none_, positions, index});
  });
  expect(start + "the first offset is not 0 (expected 0, found 1)", [&] { pool({late_, positions, index}); });
  expect(start + "the offsets decrease after sequence 1 (expected at least 4, found 2)", [&] {
    pool({falling_, positions, index});
  });
  expect(start + "the last offset is not the number of values (expected 3, found 2)", [&] {
    pool({short_, positions, index});
  });
  const std::string counts = start +
                             "the positions or sequence indices do not match the tokens "
                             "(expected 3 of each, found ";
  expect(counts + "2 positions and 3 sequence indices)", [&] { pool({whole_, few, index}); });
  expect(counts + "3 positions and 2 sequence indices)", [&] { pool({whole_, positions, few_index}); });
}

TEST_F(RefusedInputs, OfDropout) {
  RaggedBuffer batch;
  batch.add(3, 0);
  tape_.begin({.record = false, .training = true});
  Var x = zeros({3, 2});
  Ragged shape = batch.view();
  ops::dropout_add(tape_, x, zeros({3, 2}), shape, {0.5f, 0});
  expect(
      "dropout: x and the residual differ in shape (expected equal shapes, found x [3, 2], residual [2, 3])",
      [&] {
        ops::dropout_add(tape_, x, zeros({2, 3}), shape, {0.5f, 0});
      });
  for (const float rate : {-0.5f, 1.0f})
    expect("dropout: the rate is out of range (expected at least 0 and less than 1, found " +
               std::to_string(rate) + ")",
           [&] {
             ops::dropout(tape_, x, shape, {rate, 0});
           });
  const std::string counts =
      "dropout: the positions or sequence indices do not match the tokens (expected 3 of each, found ";
  shape.positions = shape.positions.first(2);
  expect(counts + "2 positions and 3 sequence indices)", [&] { ops::dropout(tape_, x, shape, {0.5f, 0}); });
  shape.positions = batch.view().positions, shape.sequence_index = shape.sequence_index.first(1);
  expect(counts + "3 positions and 1 sequence indices)", [&] { ops::dropout(tape_, x, shape, {0.5f, 0}); });
}

TEST_F(RefusedInputs, OfJoinedRowsAndColumns) {
  Var x = zeros({3, 2}), wide = zeros({3, 3}), two = zeros({2, 2});
  expect("join columns: expected at least one part, found none",
         [&] { ops::join_columns(tape_, std::span<const Var>()); });
  expect(
      "join columns: two parts differ in the number of rows (expected equal numbers of rows, found first "
      "[3, 2], another [2, 2])",
      [&] {
        ops::join_columns(tape_, {x, wide, two});
      });
  const Numbers32 rows{0, 4}, outside{0, 5}, all{2, 1, 0};
  ops::join_rows(tape_, x, two, rows);
  expect(
      "join rows: the id at index 1 is out of range (expected ids from 0 to 4, found id 5)",
      [&] { ops::join_rows(tape_, x, two, outside); }, ErrorKind::invalid_input);
  expect(
      "join rows: first and second differ in the number of features (expected equal numbers of features, "
      "found first [3, 2], second [3, 3])",
      [&] { ops::join_rows(tape_, x, wide, rows); });
  const auto assemble = [&](std::vector<ops::PlacedRows> parts, std::int64_t count) {
    ops::assemble_rows(tape_, parts, count);
  };
  const Numbers32 first{4, 0}, second{1, 3, 2};
  assemble({{two, first}, {x, second}}, 5);
  expect("assemble rows: expected at least one part, found none", [&] { assemble({}, 5); });
  expect("assemble rows: a part has a wrong shape (expected [3, 2], found part [3, 3])", [&] {
    assemble({{two, first}, {wide, second}}, 5);
  });
  expect("assemble rows: a part has a wrong shape (expected [3, 2], found part [2, 2])", [&] {
    assemble({{two, second}}, 5);
  });
  expect(
      "assemble rows: the id at index 0 is out of range (expected ids from 0 to 3, found id 4)",
      [&] {
        assemble({{two, first}}, 4);
      },
      ErrorKind::invalid_input);
  expect("assemble rows: the parts have a wrong number of rows in total (expected 6 rows, found 5 rows)",
         [&] {
           assemble({{two, first}, {x, second}}, 6);
         });
}

TEST_F(RefusedInputs, OfPairsOfMatrices) {
  Var a = zeros({3, 2}), b = zeros({2, 3});
  const std::string shapes = " (expected equal shapes, found a [3, 2], b [2, 3])";
  expect("add: the shapes differ" + shapes, [&] { ops::add(tape_, a, b); });
  expect("multiply: the shapes differ" + shapes, [&] { ops::multiply(tape_, a, b); });
  expect("paired_products: a and b differ in shape" + shapes, [&] { ops::paired_products(tape_, a, b); });
  expect("paired_distances: a and b differ in shape" + shapes, [&] { ops::paired_distances(tape_, a, b); });
  expect("paired_products: b is not contiguous f32 (expected f32, contiguous, found b [3, 2] not contiguous)",
         [&] { ops::paired_products(tape_, a, strided(3, 2)); });
  expect(
      "row_products: a and b differ in the number of features (expected equal numbers of features, found a "
      "[3, 2], b [2, 3])",
      [&] { ops::row_products(tape_, a, b); });
  expect("margin_loss: near and far differ in shape (expected equal shapes, found near [3, 2], far [2, 3])",
         [&] { ops::margin_loss(tape_, a, b, 0.1f); });
  expect("scale_exp: log_factor is not a single number (expected 1 element, found log_factor [3, 2])",
         [&] { ops::scale_exp(tape_, a, a); });
  expect("weighted_sum: the number of weights is wrong (expected 2, found 3)", [&] {
    ops::weighted_sum(tape_, zeros({3}), std::vector{a, a});
  });
  expect("weighted_sum: the number of weights is wrong (expected 0, found 0)",
         [&] { ops::weighted_sum(tape_, zeros({0}), {}); });
  expect("weighted_sum: the parts have different shapes", [&] {
    ops::weighted_sum(tape_, zeros({2}), std::vector{a, b});
  });
}

TEST_F(RefusedInputs, OfColumnsWindowsAndEdits) {
  Var x = zeros({3, 4});
  ops::columns(tape_, x, 1, 3);
  for (const auto& [first, width] : {std::pair{-1, 2}, {0, -1}, {2, 3}})
    expect("columns: x has too few features for the range of columns (expected at least " +
               std::to_string(first + width) + " features, found x [3, 4])",
           [&] { ops::columns(tape_, x, first, width); });
  RaggedBuffer batch;
  batch.add(3, 0);
  for (const std::int64_t left : {0, 1}) ops::windows(tape_, x, batch.view(), 2, left);
  for (const auto& [width, left] : {std::pair{0, 0}, {2, -1}, {2, 2}})
    expect(
        "windows: the window of a token does not contain the token (expected width at least 1, and 0 to "
        "width - 1 tokens before, found width " +
            std::to_string(width) + ", " + std::to_string(left) + " tokens before)",
        [&] { ops::windows(tape_, x, batch.view(), width, left); });
  const auto edit = [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
    ops::edit(tape_, x, std::vector<ops::Edit>{{row, begin, end, 0.0f, nullptr}});
  };
  edit(2, 1, 4), edit(0, 2, 2);
  for (const auto& [row, begin, end] : {std::tuple{-1, 0, 1}, {3, 0, 1}, {0, -1, 1}, {0, 2, 1}, {0, 0, 5}})
    expect("edit: row " + std::to_string(row) + ", features [" + std::to_string(begin) + ", " +
               std::to_string(end) +
               ") of an edit are outside of x (expected a row below 3, features in [0, 4), found x [3, 4])",
           [&] { edit(row, begin, end); });
  const std::vector<float> heads(3, 1.0f);
  expect(
      "scale_heads: the number of heads does not divide the number of features (expected a divisor of 4, "
      "found 3 heads)",
      [&] { ops::scale_heads(tape_, x, heads); });
  expect(
      "scale_heads: the number of heads does not divide the number of features (expected a divisor of 4, "
      "found 0 heads)",
      [&] { ops::scale_heads(tape_, x, {}); });
}

TEST_F(RefusedInputs, OfRotary) {
  Var x = zeros({3, 8});
  ops::RotaryTable table;
  table.cosine = table.sine = Tensor::zeros({5, 2});
  const Numbers32 positions{0, 4, 2}, two{0, 1};
  const auto rotate = [&](std::int64_t column, std::int64_t heads, std::int64_t size,
                          std::span<const std::int32_t> at) {
    ops::rotary(tape_, x, {column, heads, size}, table, at);
  };
  rotate(0, 2, 4, positions);
  expect(
      "rotary: the number of positions differs from the number of rows (expected 3 positions, one for each "
      "row of x, found 2 positions)",
      [&] { rotate(0, 2, 4, two); });
  const auto features = [](int count, int size) {
    return "rotary: x has too few features for the heads, or the table is wider than a head (expected at "
           "least " +
           std::to_string(count) + " features, and a table for at most " + std::to_string(size) +
           " features, found x [3, 8])";
  };
  expect(features(7, 4), [&] { rotate(-1, 2, 4, positions); });
  expect(features(9, 4), [&] { rotate(1, 2, 4, positions); });
  expect(features(6, 3), [&] { rotate(0, 2, 3, positions); });
}

TEST_F(RefusedInputs, OfLosses) {
  Var logits = zeros({3, 4}), wide = zeros({3, 5});
  const Numbers32 labels{0, 3, 1}, two{0, 1};
  expect(
      "cross_entropy: the number of labels differs from the number of rows (expected 3 labels, one for each "
      "row of the logits, found 2 labels)",
      [&] { ops::cross_entropy(tape_, logits, two); });
  expect(
      "cross_entropy: the number of labels differs from the number of rows (expected 3 labels, one for each "
      "row of hidden, found 2 labels)",
      [&] {
        ops::linear_cross_entropy(tape_, logits, zeros({6, 4}), nullptr, two);
      });
  const auto weighted = [&](std::span<const std::int32_t> own, std::size_t weights) {
    ops::weighted_cross_entropy(tape_, logits, own, std::vector<float>(weights, 1.0f));
  };
  weighted(labels, 4);
  const std::string counts =
      "weighted_cross_entropy: the labels or weights do not match the logits (expected 3 "
      "labels and 4 weights, found ";
  expect(counts + "2 labels and 4 weights)", [&] { weighted(two, 4); });
  expect(counts + "3 labels and 3 weights)", [&] { weighted(labels, 3); });
  const auto diverge = [&](Var second, std::span<const std::int32_t> own) {
    ops::symmetric_divergence(tape_, logits, second, own, -100, 1.0f);
  };
  const std::string pair =
      "symmetric_divergence: the logits differ in shape, or do not match the labels "
      "(expected equal shapes, with ";
  expect(pair + "3 rows, one for each label, found first [3, 4], second [3, 5])",
         [&] { diverge(wide, labels); });
  expect(pair + "2 rows, one for each label, found first [3, 4], second [3, 4])", [&] {
    diverge(zeros({3, 4}), two);
  });
}

TEST_F(RefusedInputs, OfLossesWithTargets) {
  Var logits = zeros({3, 4});
  const Tensor rows = Tensor::zeros({3, 5}), half = tape_.arena().tensor({3, 4}, DType::bf16);
  const std::string targets =
      "binary cross-entropy: the targets do not match the logits (expected [3, 4], found ";
  expect(targets + "[3, 5])", [&] { ops::binary_cross_entropy(tape_, logits, rows); });
  expect(targets + "[3, 4] not contiguous)",
         [&] { ops::binary_cross_entropy(tape_, logits, rows.slice_columns(0, 4)); });
  expect(targets + "bf16 [3, 4])", [&] { ops::binary_cross_entropy(tape_, logits, half); });
  expect(
      "squared_error: the targets and x differ in shape (expected [3, 4], the shape of x, found targets "
      "[3, 5])",
      [&] { ops::squared_error(tape_, logits, rows); });
  RaggedBuffer batch;
  batch.add(2, 0), batch.add(1, 1);
  const auto span_loss = [&](const Numbers32& own) {
    ops::span_cross_entropy(tape_, zeros({3, 2}), batch.view(), own);
  };
  span_loss({1, 0, 0, -100});
  expect(
      "span_cross_entropy: the number of labels is not sequences × columns (expected 4 labels, found 3 "
      "labels)",
      [&] {
        span_loss({1, 0, 0});
      });
  expect(
      "span_cross_entropy labels: the id at index 0 is out of range (expected ids from 0 to 0, found id 1)",
      [&] {
        span_loss({1, 0, 1, 0});
      },
      ErrorKind::invalid_input);
}

TEST_F(RefusedInputs, OfRecurrences) {
  RaggedBuffer batch;
  batch.add(2, 0), batch.add(1, 1);
  const auto run = [&](Var x, Var weight, kernels::Cell cell, Var initial) {
    ops::RecurrenceOptions options;
    options.cell = cell, options.initial = initial;
    ops::recurrence(tape_, x, weight, nullptr, batch.view(), options);
  };
  Var x = zeros({3, 8}), weight = zeros({8, 2});
  run(x, weight, kernels::Cell::lstm, zeros({2, 4})), run(x, weight, kernels::Cell::lstm, nullptr);
  const std::string sizes =
      "recurrence: x and the weight do not match (expected x with 8 features, and a weight "
      "[8, 2], found ";
  expect(sizes + "x [3, 6], weight [8, 2])", [&] {
    run(zeros({3, 6}), weight, kernels::Cell::lstm, nullptr);
  });
  expect(sizes + "x [3, 8], weight [6, 2])", [&] { run(x, zeros({6, 2}), kernels::Cell::lstm, nullptr); });
  const auto initial = [](const char* shape) {
    return std::string("recurrence: the initial state has a wrong shape (expected [2, 4], found initial ") +
           shape + ", weight [8, 2])";
  };
  expect(initial("[1, 4]"), [&] { run(x, weight, kernels::Cell::lstm, zeros({1, 4})); });
  expect(initial("[2, 2]"), [&] { run(x, weight, kernels::Cell::lstm, zeros({2, 2})); });
}

TEST_F(RefusedInputs, OfPadding) {
  const Padding padding = Padding::none(2, 3);
  EXPECT_EQ(padding.remove(Tensor::zeros({2, 3, 4})).shape().text(), "[6, 4]");
  const std::string shape =
      "a padded batch has a wrong shape or is not contiguous (expected contiguous [2, 3, "
      "…], found ";
  for (const Shape& wrong : {Shape{6}, Shape{3, 3, 4}, Shape{2, 2, 4}})
    expect(shape + wrong.text() + ")", [&] { padding.remove(Tensor::zeros(wrong)); });
  expect(shape + "[2, 3] not contiguous)", [&] {
    padding.remove(Tensor::zeros({2, 4}).slice_columns(0, 3));
  });
  expect("a ragged batch has a wrong number of rows (expected 6 rows, one for each token, found 5 rows)",
         [&] {
           padding.restore(Tensor::zeros({5, 4}));
         });
}

}  // namespace
}  // namespace regard::testing
