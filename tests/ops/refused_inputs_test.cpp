// Inputs that do not fit an operation are refused. Each case violates one condition and compares the whole
// message.
#include "ops/additive_attention.h"
#include "ops/attention.h"
#include "ops/convolution.h"
#include "ops/ctc_loss.h"
#include "ops/gated_linear_unit.h"
#include "ops/group_norm.h"
#include "ops/linear.h"
#include "ops/low_rank.h"
#include "ops/weight_norm.h"
#include "refusal_fixture.h"

namespace regard::testing {
namespace {

TEST_F(RefusedInputs, OfLinear) {
  const auto linear = [&](Var x, Var weight, Var bias, Var residual = nullptr) {
    ops::LinearOptions options;
    options.residual = residual;
    ops::linear(tape_, x, weight, bias, options);
  };
  Var x = zeros({3, 4}), weight = zeros({2, 4});
  linear(x, weight, zeros({2}), zeros({3, 2}));
  linear(strided(3, 4), weight, nullptr);
  expect("linear: x is not an f32 matrix (expected f32 [rows, features], found x absent)",
         [&] { linear(nullptr, weight, nullptr); });
  expect("linear: x is not an f32 matrix (expected f32 [rows, features], found x bf16 [3, 4])", [&] {
    linear(halves({3, 4}), weight, nullptr);
  });
  expect("linear: x is not an f32 matrix (expected f32 [rows, features], found x [4])",
         [&] { linear(zeros({4}), weight, nullptr); });
  expect(
      "linear: weight is not contiguous f32 (expected f32, contiguous, found weight [2, 4] not contiguous)",
      [&] { linear(x, strided(2, 4), nullptr); });
  expect("linear: bias is not an f32 vector of the required size (expected f32 [2], found bias bf16 [2])",
         [&] { linear(x, weight, halves({2})); });
  expect("linear: bias is not an f32 vector of the required size (expected f32 [2], found bias [1, 2])", [&] {
    linear(x, weight, zeros({1, 2}));
  });
  expect("linear: bias is not an f32 vector of the required size (expected f32 [2], found bias [3])",
         [&] { linear(x, weight, zeros({3})); });
  const std::string why =
                        "linear: the residual has a wrong shape or is not contiguous "
                        "(expected contiguous [3, 2], found residual ",
                    others = ", x [3, 4], weight [2, 4])";
  expect(why + "[2, 2]" + others, [&] { linear(x, weight, nullptr, zeros({2, 2})); });
  expect(why + "[3, 3]" + others, [&] { linear(x, weight, nullptr, zeros({3, 3})); });
  expect(why + "[3, 2] not contiguous" + others, [&] { linear(x, weight, nullptr, strided(3, 2)); });
}

TEST_F(RefusedInputs, OfAddLowRank) {
  const auto add = [&](Var x, Var y, Var a, Var b, std::int64_t column) {
    ops::add_low_rank(tape_, x, y, {.a = a, .b = b, .column = column});
  };
  Var x = zeros({3, 4}), y = zeros({3, 6}), a = zeros({2, 4}), b = zeros({5, 2});
  add(x, y, a, b, 0), add(x, y, a, b, 1);
  const auto message = [](const char* rows, int column, const char* shape_a, const char* shape_b) {
    return std::string(
               "add_low_rank: the shapes do not match (expected x [tokens, in], a [rank, in], "
               "b [out, rank], y [tokens, at least ") +
           std::to_string(column) + " + out], found x [3, 4], y [" + rows + ", 6], a " + shape_a + ", b " +
           shape_b + ")";
  };
  expect(message("3", 0, "[2, 5]", "[5, 2]"), [&] { add(x, y, zeros({2, 5}), b, 0); });
  expect(message("3", 0, "[2, 4]", "[5, 3]"), [&] { add(x, y, a, zeros({5, 3}), 0); });
  expect(message("2", 0, "[2, 4]", "[5, 2]"), [&] { add(x, zeros({2, 6}), a, b, 0); });
  expect(message("3", -1, "[2, 4]", "[5, 2]"), [&] { add(x, y, a, b, -1); });
  expect(message("3", 2, "[2, 4]", "[5, 2]"), [&] { add(x, y, a, b, 2); });
  expect("add_low_rank: y is not contiguous f32 (expected f32, contiguous, found y [3, 6] not contiguous)",
         [&] { add(x, strided(3, 6), a, b, 0); });
}

TEST_F(RefusedInputs, OfConvolutions) {
  Var x = zeros({3, 4}), weight = zeros({2, 8});
  const auto convolve = [&](Var weight_of, std::span<const std::int32_t> offsets, const FrameWindow& window,
                            std::int64_t groups) {
    ops::convolution(tape_, x, weight_of, nullptr, offsets, {window, groups});
  };
  convolve(weight, whole_, {2, 1, 0, 0}, 1);
  const auto window = [](const std::string& found) {
    return "convolution: the kernel, stride or padding is out of range (expected kernel and stride at least "
           "1, "
           "padding at least 0, found " +
           found + ")";
  };
  expect(window("kernel 0, stride 1, padding 2 and 3"), [&] { convolve(weight, whole_, {0, 1, 2, 3}, 1); });
  expect(window("kernel 2, stride 0, padding 2 and 3"), [&] { convolve(weight, whole_, {2, 0, 2, 3}, 1); });
  expect(window("kernel 2, stride 1, padding -1 and 3"), [&] { convolve(weight, whole_, {2, 1, -1, 3}, 1); });
  expect(window("kernel 2, stride 1, padding 2 and -1"), [&] { convolve(weight, whole_, {2, 1, 2, -1}, 1); });
  const auto groups = [](const std::string& found) {
    return "convolution: the groups do not divide the channels (expected a common divisor of both numbers of "
           "channels, found " +
           found + ")";
  };
  expect(groups("0 groups, 4 input and 2 output channels"), [&] { convolve(weight, whole_, {2}, 0); });
  expect(groups("2 groups, 4 input and 3 output channels"), [&] { convolve(zeros({3, 4}), whole_, {2}, 2); });
  expect(groups("3 groups, 4 input and 3 output channels"), [&] { convolve(zeros({3, 4}), whole_, {2}, 3); });
  expect(
      "convolution: the weight has a wrong shape (expected 8 elements, [out, in / groups, kernel], found "
      "x [3, 4], weight [2, 8])",
      [&] { convolve(weight, whole_, {2}, 2); });
  for (const Numbers32& offsets : {none_, late_, short_, falling_})
    expect(
        "convolution: the offsets do not match the frames of x (expected ascending offsets from 0 to 3, "
        "found x [3, 4])",
        [&] { convolve(weight, offsets, {2}, 1); });
}

TEST_F(RefusedInputs, OfGatedLinearUnits) {
  expect(
      "gated_linear_unit: x has an odd number of features (expected an even number of features, found x [3, "
      "5])",
      [&] {
        ops::gated_linear_unit(tape_, zeros({3, 5}));
      });
}

TEST_F(RefusedInputs, OfNormsOfGroupsAndWeights) {
  Var x = zeros({3, 4});
  const auto norm = [&](std::int64_t groups, std::span<const std::int32_t> offsets) {
    ops::group_norm(tape_, x, nullptr, nullptr, offsets, {.groups = groups});
  };
  norm(1, whole_), norm(4, whole_);
  for (const std::int64_t groups : {0, 3})
    expect(
        "group norm: the groups do not divide the channels (expected a divisor of the number of channels, "
        "found " +
            std::to_string(groups) + " groups, 4 channels)",
        [&] { norm(groups, whole_); });
  for (const Numbers32& offsets : {none_, late_, short_, falling_})
    expect(
        "group norm: the offsets do not match the frames of x (expected ascending offsets from 0 to 3, "
        "found x [3, 4])",
        [&] { norm(2, offsets); });
  expect(
      "weight norm: g has a wrong number of elements (expected 4 elements, one for each column of v, found "
      "v [3, 4], g [3])",
      [&] { ops::weight_norm(tape_, x, zeros({3})); });
}

TEST_F(RefusedInputs, OfTheCtcLoss) {
  const Numbers32 targets{1, 2}, of_one{0, 2}, of_two{0, 1, 2}, outside{1, 4}, blank{1, 3};
  const auto loss = [&](std::span<const std::int32_t> offsets, std::span<const std::int32_t> labels,
                        std::span<const std::int32_t> label_offsets, std::int32_t blank_id) {
    ops::ctc_loss(tape_, zeros({3, 4}), offsets, labels, label_offsets, {.blank = blank_id});
  };
  loss(whole_, targets, of_one, 0), loss(whole_, targets, of_one, 3);
  const auto offsets = [](std::size_t frames, std::size_t labels) {
    return "CTC loss: the offsets do not match the frames or the targets (expected equal numbers of "
           "ascending "
           "offsets, from 0 to 3 frames and 2 targets, found " +
           std::to_string(frames) + " frame offsets, " + std::to_string(labels) + " target offsets)";
  };
  for (const Numbers32& wrong : {none_, late_, short_})
    expect(offsets(wrong.size(), 2), [&] { loss(wrong, targets, of_one, 0); });
  for (const Numbers32& wrong : {none_, Numbers32{1, 2}, Numbers32{0, 1}})
    expect(offsets(2, wrong.size()), [&] { loss(whole_, targets, wrong, 0); });
  expect(offsets(4, 4), [&] { loss(falling_, targets, Numbers32{0, 1, 1, 2}, 0); });
  expect(offsets(2, 3), [&] { loss(whole_, targets, of_two, 0); });
  for (const std::int32_t wrong : {-1, 4})
    expect("CTC loss: the blank is not one of the labels (expected an id from 0 to 3, found id " +
               std::to_string(wrong) + ")",
           [&] { loss(whole_, targets, of_one, wrong); });
  expect(
      "CTC loss: the id at index 1 is out of range (expected ids from 0 to 3, found id 4)",
      [&] { loss(whole_, outside, of_one, 0); }, ErrorKind::invalid_input);
  expect(
      "CTC loss: a target is the blank (expected ids other than the blank, found id 3)",
      [&] { loss(whole_, blank, of_one, 3); }, ErrorKind::invalid_input);
}

TEST_F(RefusedInputs, OfAdditiveAttention) {
  const std::vector<ops::KeyRange> ranges{{0, 2}, {1, 5}};
  const auto attend = [&](Var query, Var key, Var value, Var score, std::span<const ops::KeyRange> keys) {
    ops::additive_attention(tape_, query, key, value, score, keys);
  };
  Var query = zeros({2, 3}), key = zeros({5, 3}), value = zeros({5, 4}), score = zeros({3});
  attend(query, key, value, score, ranges);
  const auto shapes = [](const std::string& keys, const std::string& found) {
    return "additive attention: the shapes do not match (expected query [" + keys +
           ", size], key [keys, size], value [keys, features], score [size], found " + found + ")";
  };
  expect(shapes("2", "query [2, 2], key [5, 3], value [5, 4], score [3]"), [&] {
    attend(zeros({2, 2}), key, value, score, ranges);
  });
  expect(shapes("2", "query [2, 3], key [5, 3], value [5, 4], score [2]"),
         [&] { attend(query, key, value, zeros({2}), ranges); });
  expect(shapes("2", "query [2, 3], key [5, 3], value [4, 4], score [3]"), [&] {
    attend(query, key, zeros({4, 4}), score, ranges);
  });
  expect(shapes("1", "query [2, 3], key [5, 3], value [5, 4], score [3]"),
         [&] { attend(query, key, value, score, std::span(ranges).first(1)); });
  for (const auto& [begin, end] : {std::pair{-1, 2}, {3, 2}, {1, 6}}) {
    const std::vector<ops::KeyRange> wrong{{0, 2}, {begin, end}};
    expect(
        "additive attention: a query's range of keys is invalid (expected 0 <= begin <= end <= 5, found "
        "begin " +
            std::to_string(begin) + ", end " + std::to_string(end) + ")",
        [&] { attend(query, key, value, score, wrong); });
  }
}

TEST_F(RefusedInputs, OfAttention) {
  RaggedBuffer batch, other;
  batch.add(2, 0), batch.add(1, 1), other.add(3, 0);
  const auto attend = [&](ops::Columns query, Var key, const Ragged& keys, ops::AttentionOptions options) {
    ops::attention(tape_, query, {key}, {key}, batch.view(), keys, options);
  };
  Var x = zeros({3, 4});
  ops::AttentionOptions options;
  options.head_dim = 4;
  attend({x}, x, batch.view(), options);
  const auto outside = [](int column) {
    return "attention: query is outside of the matrix: 4 features from feature " + std::to_string(column) +
           " (expected features 0 to 3, found query [3, 4])";
  };
  expect(outside(-1), [&] { attend({x, -1}, x, batch.view(), options); });
  expect(outside(1), [&] { attend({x, 1}, x, batch.view(), options); });
  expect(
      "attention: queries and keys differ in the number of sequences (expected 2 sequences, as in the "
      "queries, found 1 sequences of keys)",
      [&] { attend({x}, x, other.view(), options); });
  expect(
      "attention: queries and cached keys differ in the number of sequences (expected 2 sequences, as in "
      "the queries, found 1 sequences of keys)",
      [&] { ops::attention_cached(tape_, {x}, std::vector<ops::CachedKeys>(1), batch.view(), options); });
  for (const float rate : {-0.5f, 1.0f}) {
    ops::AttentionOptions drops = options;
    drops.dropout = rate;
    expect("attention: the dropout rate is out of range (expected at least 0 and less than 1, found " +
               std::to_string(rate) + ")",
           [&] { attend({x}, x, batch.view(), drops); });
  }
  for (const auto& [heads, kv_heads, size] : {std::tuple{0, 1, 4}, {2, -1, 2}, {2, 1, -1}, {4, 3, 1}}) {
    ops::AttentionOptions wrong;
    wrong.heads = heads, wrong.kv_heads = kv_heads, wrong.head_dim = size;
    expect(
        "attention: the number of key/value heads does not divide the number of heads (expected a divisor "
        "of the number of heads, and sizes of at least 1, found " +
            std::to_string(kv_heads) + " key/value heads, " + std::to_string(heads) + " heads of " +
            std::to_string(size) + " features)",
        [&] { attend({x}, x, batch.view(), wrong); });
  }
  tape_.begin({.record = false, .training = false, .precision = kernels::Precision::bf16});
  expect("attention: query, key and value differ in dtype (expected all f32 or all bf16)", [&] {
    attend({zeros({3, 4})}, halves({3, 4}), batch.view(), options);
  });
}

}  // namespace
}  // namespace regard::testing
