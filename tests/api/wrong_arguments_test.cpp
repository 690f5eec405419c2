// Every public tensor function rejects invalid arguments with ErrorKind::usage, or with ErrorKind::numeric if
// a value cannot be represented. It never crashes, reads out of bounds or returns meaningless numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "regard/regard.h"
#include "support/namespaces.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Wrong {
  const char* name;
  std::function<void()> call;
  const char* message;  // part of the expected message
  ErrorKind kind = ErrorKind::usage;
};

void expect_errors(const std::vector<Wrong>& table) {
  for (const Wrong& wrong : table) {
    SCOPED_TRACE(wrong.name);
    try {
      wrong.call();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), wrong.kind) << error.what();
      EXPECT_NE(std::string(error.what()).find(wrong.message), std::string::npos) << error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "another exception: " << error.what();
    }
  }
}

// Return one row for each kind of tensor that the function `name` must reject. `of` calls the function with
// the tensor.
std::vector<Wrong> with_bad_tensors(const char* name, const std::function<void(const Tensor&)>& of) {
  std::vector<Wrong> table;
  for (const DType dtype : {DType::f64, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i32, DType::i64,
                            DType::boolean, DType::f8_e4m3})
    table.push_back({name, [=] { of(Tensor::zeros({2, 2}, dtype)); }, name_of(dtype)});
  table.push_back({name, [=] { of(Tensor()); }, "default-constructed or moved-from"});
  table.push_back({name, [=] { of(Tensor::view(nullptr, {2, 2})); }, "default-constructed or moved-from"});
  return table;
}

const Tensor kMatrix = random_normal({2, 2}, 1, "matrix");

// A shape with a zero may also have large sizes, because it has no elements. safetensors files may contain
// such shapes.
TEST(WrongArguments, SizesBesideAZeroMayBeLarge) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  for (const Shape& shape : {Shape{0, kHuge, 4}, Shape{kHuge, 0, 4}, Shape{kHuge, 4, 0}}) {
    EXPECT_EQ(shape.elements(), 0);
    EXPECT_EQ(Tensor::zeros(shape).elements(), 0);
  }
}

TEST(WrongArguments, Tensor) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  static float memory[4] = {};
  const Tensor f32 = Tensor::zeros({2, 3}), f64 = Tensor::zeros({2}, DType::f64);
  const auto converted = [](float value, DType dtype) { return Tensor::of({value}).to(dtype); };
  expect_errors({
      {"a negative size",
       [] {
         Tensor::zeros({2, -1});
       },
       "-1"},
      {"nine dimensions", [] { Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; }, "at most 8"},
      {"sizes that overflow",
       [] {
         Shape{kHuge, 4};
       },
       "64-bit"},
      {"a dimension below 0", [=] { (void)f32.shape()[-1]; }, "dimension"},
      {"a dimension beyond all", [=] { (void)f32.shape()[8]; }, "dimension"},
      {"2^64 bytes of zeros", [] { Tensor::zeros({kHuge}); }, "2^63"},
      {"2^64 bytes", [] { Tensor::empty({kHuge}); }, "2^63"},
      {"2^63 bytes", [] { Tensor::empty({kHuge}, DType::i16); }, "2^63"},
      {"a view of 2^64 bytes", [] { Tensor::view(memory, {kHuge}); }, "2^63"},
      {"f32() of f64", [=] { f64.f32(); }, "expected f32, found f64"},
      {"row() of f64", [=] { f64.row(0); }, "expected f32, found f64"},
      {"f64() of f32", [=] { f32.f64(); }, "expected f64, found f32"},
      {"i64() of f32", [=] { f32.i64(); }, "expected i64"},
      {"i32() of f32", [=] { f32.i32(); }, "expected i32"},
      {"u8() of f32", [=] { f32.u8(); }, "expected u8"},
      {"a count that differs",
       [] {
         Tensor::of({2, 2}, {1, 2, 3});
       },
       "[2, 2]"},
      {"reshape to another count", [=] { (void)f32.reshape({7}); }, "[7]"},
      {"reshape of a strided one", [=] { (void)f32.slice_columns(0, 2).reshape({4}); }, "not contiguous"},
      {"rows outside", [=] { (void)f32.slice_rows(1, 3); }, "rows"},
      {"rows that end before they begin", [=] { (void)f32.slice_rows(2, 1); }, "rows"},
      {"rows below 0", [=] { (void)f32.slice_rows(-1, 1); }, "rows"},
      {"columns outside", [=] { (void)f32.slice_columns(0, 4); }, "columns"},
      {"an element outside",
       [=] {
         (void)f32.at({2, 0});
       },
       "index of dimension 0 is out of range"},
      {"an element of too few numbers", [=] { (void)f32.at({1}); }, "expected 2 indices"},
      {"an element of none", [] { (void)Tensor().at({0}); }, "default-constructed"},
      {"clone of none", [] { (void)Tensor().clone(); }, "default-constructed"},
      {"to() of none", [] { (void)Tensor().to(DType::f64); }, "default-constructed"},
      {"to f8", [=] { (void)f32.to(DType::f8_e4m3); }, "f8_e4m3"},
      {"NaN as i32", [=] { converted(kNotANumber, DType::i32); }, "nan", ErrorKind::numeric},
      {"infinity as i64", [=] { converted(kInfinity, DType::i64); }, "inf", ErrorKind::numeric},
      {"2^63 as i64", [=] { converted(0x1p63f, DType::i64); }, "i64", ErrorKind::numeric},
      {"300 as u8", [=] { converted(300.0f, DType::u8); }, "0 to 255", ErrorKind::numeric},
      {"-1 as u64", [=] { converted(-1.0f, DType::u64); }, "u64", ErrorKind::numeric},
  });
}

TEST(WrongArguments, Math) {
  const Tensor three = random_normal({3}, 1, "three"), cube = Tensor::zeros({2, 2, 2});
  for (const auto& table : {
           with_bad_tensors("matmul", [](const Tensor& t) { matmul(t, kMatrix); }),
           with_bad_tensors("matmul", [](const Tensor& t) { matmul(kMatrix, t); }),
           with_bad_tensors("matmul_transposed", [](const Tensor& t) { matmul_transposed(kMatrix, t); }),
           with_bad_tensors("transpose", [](const Tensor& t) { transpose(t); }),
           with_bad_tensors("add", [](const Tensor& t) { add(t, kMatrix); }),
           with_bad_tensors("add", [](const Tensor& t) { add(kMatrix, t); }),
           with_bad_tensors("scale", [](const Tensor& t) { scale(t, 2.0f); }),
           with_bad_tensors("softmax", [](const Tensor& t) { softmax(t); }),
           with_bad_tensors("layer_norm", [](const Tensor& t) { layer_norm(t); }),
           with_bad_tensors("dot", [](const Tensor& t) { dot(kMatrix, t); }),
           with_bad_tensors("norm", [](const Tensor& t) { norm(t); }),
           with_bad_tensors("cosine", [](const Tensor& t) { cosine_similarity(t, kMatrix); }),
           with_bad_tensors("most_similar_rows",
                            [](const Tensor& t) {
                              most_similar_rows(t, Tensor::of({1, 2}), 1);
                            }),
           with_bad_tensors("largest_difference", [](const Tensor& t) { largest_difference(kMatrix, t); }),
       })
    expect_errors(table);
  expect_errors({
      {"a row of f64", [] { add(kMatrix, Tensor::zeros({2}, DType::f64)); }, "f64"},
      {"matmul of vectors", [=] { matmul(three, kMatrix); }, "[3]"},
      {"matmul of cubes", [=] { matmul(cube, cube); }, "[2, 2, 2]"},
      {"matmul that does not fit",
       [=] {
         matmul(kMatrix, Tensor::zeros({3, 2}));
       },
       "[3, 2]"},
      {"transpose of a vector", [=] { transpose(three); }, "[3]"},
      {"add of other shapes", [=] { add(kMatrix, three); }, "[3]"},
      {"dot of other shapes", [=] { dot(kMatrix, three); }, "[3]"},
      {"layer_norm below 0", [] { layer_norm(kMatrix, -1.0f); }, "epsilon"},
      {"layer_norm with NaN", [] { layer_norm(kMatrix, kNotANumber); }, "epsilon"},
      {"a negative deviation", [] { random_normal({2}, 1, "x", -1.0f); }, "deviation"},
      {"a deviation of NaN", [] { random_normal({2}, 1, "x", kNotANumber); }, "deviation"},
      {"a negative length", [] { sinusoidal_positions(-1, 4); }, "-1"},
      {"a negative size", [] { sinusoidal_positions(4, -1); }, "-1"},
      {"a query of another size", [=] { most_similar_rows(kMatrix, three, 1); }, "[3]"},
      {"a query of another size than no rows",
       [=] {
         most_similar_rows(Tensor::zeros({0, 2}), three, 1);
       },
       "[3]"},
      {"a negative count",
       [] {
         most_similar_rows(kMatrix, Tensor::of({1, 2}), -1);
       },
       "-1"},
      {"equal_bits of none", [] { equal_bits(kMatrix, Tensor()); }, "default-constructed"},
  });
}

TEST(WrongArguments, EmptyTensorsGiveEmptyResults) {
  const Tensor none = Tensor::zeros({0, 4}), narrow = Tensor::zeros({3, 0});
  EXPECT_EQ(matmul(none, Tensor::zeros({4, 2})).shape(), (Shape{0, 2}));
  EXPECT_TRUE(equal_bits(matmul(narrow, Tensor::zeros({0, 2})), Tensor::zeros({3, 2})));
  EXPECT_EQ(transpose(none).shape(), (Shape{4, 0}));
  EXPECT_EQ(add(none, none).elements(), 0);
  EXPECT_EQ(softmax(none).shape(), none.shape());
  EXPECT_EQ(softmax(narrow).shape(), narrow.shape());
  EXPECT_EQ(layer_norm(none).shape(), none.shape());
  EXPECT_EQ(layer_norm(narrow).shape(), narrow.shape());
  EXPECT_EQ(dot(none, none), 0.0f);
  EXPECT_TRUE(most_similar_rows(none, Tensor::zeros({4}), 3).empty());
  EXPECT_EQ(sinusoidal_positions(0, 4).elements() + sinusoidal_positions(4, 0).elements(), 0);
  EXPECT_EQ(matrix_text("x", none), "x [0, 4]\n");
  EXPECT_EQ(vector_text(Tensor::zeros({0})), "[]");
  const Tensor q = Tensor::zeros({2, 1, 3, 4}), no_keys = Tensor::zeros({2, 1, 0, 4});
  EXPECT_TRUE(equal_bits(attention(q, no_keys, no_keys), q)) << "nothing to attend to: zeros";
  EXPECT_EQ(attention(no_keys, q, q).elements(), 0);
  EXPECT_EQ(attention_weights(q, no_keys).shape(), (Shape{2, 1, 3, 0}));
  EXPECT_TRUE(equal_bits(attention_backward(no_keys, q, q, no_keys).key, q));
}

TEST(WrongArguments, NumbersAtTheEdge) {
  Tensor table = random_normal({3000, 8}, 1, "table");
  const Tensor query = random_normal({4}, 1, "query");
  EXPECT_EQ(most_similar_rows(table.slice_columns(0, 4), query, 5),
            most_similar_rows(table.slice_columns(0, 4).clone(), query, 5))
      << "rows that lie apart";
  for (std::int64_t r = 0; r < table.rows(); r += 3) table.row(r)[0] = kNotANumber;
  const std::vector<std::int64_t> best = most_similar_rows(table.slice_columns(0, 4), query, 2000);
  EXPECT_TRUE(std::none_of(best.begin(), best.end(), [](std::int64_t row) { return row % 3 == 0; }));
  for (const float size : {1e-25f, 1.0f, 1e25f})
    EXPECT_NEAR(cosine_similarity(Tensor::of({size, size}), Tensor::of({size, 0.0f})), std::sqrt(0.5f), 1e-6f)
        << size;
  EXPECT_EQ(cosine_similarity(Tensor::of({0.0f}), Tensor::of({1.0f})), 0.0f);
  EXPECT_TRUE(std::isnan(cosine_similarity(Tensor::of({kNotANumber}), Tensor::of({1.0f}))));
  EXPECT_TRUE(std::isnan(largest_difference(Tensor::of({kNotANumber, 2.0f}), Tensor::of({1.0f, 1.0f}))))
      << "a finite difference after it";
}

TEST(WrongArguments, Attention) {
  const Tensor q = random_normal({1, 2, 3, 4}, 1, "q");
  const auto as = [](DType dtype) { return Tensor::zeros({1, 2, 3, 4}, dtype); };
  for (const DType dtype : {DType::f64, DType::f16, DType::i32, DType::boolean})
    expect_errors({{"q", [=] { attention(as(dtype), q, q); }, "f32"},
                   {"k", [=] { attention(q, as(dtype), q); }, "f32"},
                   {"v", [=] { attention(q, q, as(dtype)); }, "f32"},
                   {"gradient", [=] { attention_backward(q, q, q, as(dtype)); }, "f32"},
                   {"weights", [=] { attention_weights(q, as(dtype)); }, "f32"},
                   {"bias",
                    [=] {
                      attention(q, q, q, {.bias = Tensor::zeros({1, 1, 3, 3}, dtype)});
                    },
                    "f32"}});
  const auto masked = [=](DType dtype) { attention(q, q, q, {.mask = Tensor::zeros({1, 1, 3, 3}, dtype)}); };
  const auto none = [] { return Tensor::view(nullptr, {1, 2, 3, 4}); };
  expect_errors({
      {"a mask of i8", [=] { masked(DType::i8); }, "i8"},
      {"a mask of f8", [=] { masked(DType::f8_e5m2); }, "f8_e5m2"},
      {"a mask of f32", [=] { masked(DType::f32); }, "bias"},
      {"no query", [=] { attention(none(), q, q); }, "default-constructed"},
      {"no key", [=] { attention(q, Tensor(), q); }, "default-constructed"},
      {"no gradient", [=] { attention_backward(q, q, q, Tensor()); }, "default-constructed"},
      {"three dimensions",
       [=] {
         attention(q.reshape({2, 3, 4}), q, q);
       },
       "four dimensions"},
      {"heads without features",
       [] {
         const Tensor e = Tensor::zeros({1, 1, 3, 0});
         attention(e, e, e);
       },
       "head_dim"},
      {"a negative window", [=] { attention(q, q, q, {.window = -1}); }, "window"},
      {"a scale of NaN", [=] { attention(q, q, q, {.scale = kNotANumber}); }, "scale"},
      {"an infinite scale", [=] { attention(q, q, q, {.scale = kInfinity}); }, "scale"},
      {"a softcap of NaN", [=] { attention(q, q, q, {.softcap = kNotANumber}); }, "softcap"},
      {"a negative softcap", [=] { attention(q, q, q, {.softcap = -1.0f}); }, "softcap"},
  });
}

TEST(WrongArguments, Print) {
  expect_errors({
      {"matrix_text of none", [] { matrix_text("x", Tensor()); }, "default-constructed"},
      {"vector_text of none", [] { vector_text(Tensor()); }, "default-constructed"},
      {"negative digits", [] { matrix_text("x", kMatrix, {.digits = -1}); }, "digits"},
      {"too many digits", [] { matrix_text("x", kMatrix, {.digits = 1000000000}); }, "0 to 100"},
      {"negative digits of a vector", [] { vector_text(kMatrix, -1); }, "digits"},
      {"negative rows", [] { matrix_text("x", kMatrix, {.most_rows = -1}); }, "-1 rows"},
      {"negative columns", [] { matrix_text("x", kMatrix, {.most_columns = -1}); }, "-1 columns"},
  });
  EXPECT_EQ(matrix_text("x", Tensor::zeros({1, 2}, DType::boolean), {.digits = 0}), "x [1, 2]\n    0  0\n");
  EXPECT_EQ(vector_text(Tensor::of({kNotANumber}), 1), "[nan]");
}

TEST(WrongArguments, TimesOfATranscript) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Transcript transcript;
  transcript.segments.resize(1);
  transcript.segments[0].words.resize(1);
  const std::string text = format(transcript, "srt");
  EXPECT_NE(text.find("00:00:00,000 --> 00:00:00,000"), std::string::npos) << text;
  for (const double time : {kNan, -1.0, 1e300}) {
    Transcript segment = transcript, word = transcript;
    segment.segments[0].end = word.segments[0].words[0].start = time;
    EXPECT_REGARD_ERROR(format(segment, "srt"), ErrorKind::usage, "out of range");
    EXPECT_REGARD_ERROR(format(word, "vtt"), ErrorKind::usage, "out of range");
  }
}

TEST(WrongArguments, Explain) {
  const auto input = [] { return ExplainInput{.tokens = {"a", "b"}, .vectors = kMatrix}; };
  const auto with = [=](const std::function<void(ExplainInput&)>& change) {
    return [=] {
      ExplainInput changed = input();
      change(changed);
      explain(changed);
    };
  };
  const Tensor f64 = Tensor::zeros({2, 2}, DType::f64);
  const auto follow = [=](const char* name, const Tensor& value) {
    return [=] {
      std::vector<ExplainStep> steps = explain(input());
      for (ExplainStep& step : steps)
        if (step.name == name) step.value = value;
      follow_query(steps, 1);
    };
  };
  expect_errors({
      {"no tokens", with([](ExplainInput& i) { i.tokens.clear(); }), "without tokens"},
      {"vectors of f64", with([=](ExplainInput& i) { i.vectors = f64; }), "f64"},
      {"no vectors", with([](ExplainInput& i) { i.vectors = Tensor(); }), "default-constructed"},
      {"vectors without features", with([](ExplainInput& i) {
         i.vectors = Tensor::zeros({2, 0});
       }),
       "[2, 0]"},
      {"one vector too many", with([](ExplainInput& i) {
         i.vectors = Tensor::zeros({3, 2});
       }),
       "[3, 2]"},
      {"w_q alone", with([](ExplainInput& i) { i.w_q = kMatrix; }), "w_k"},
      {"w_v alone", with([](ExplainInput& i) { i.w_v = kMatrix; }), "w_q"},
      {"k alone", with([](ExplainInput& i) { i.k = kMatrix; }), "q"},
      {"w_k of f64", with([=](ExplainInput& i) { i.w_q = i.w_v = kMatrix, i.w_k = f64; }), "f64"},
      {"w_k of another size", with([](ExplainInput& i) {
         i.w_q = i.w_v = kMatrix, i.w_k = Tensor::zeros({2, 3});
       }),
       "[2, 3]"},
      {"a head of another size", with([](ExplainInput& i) {
         i.q = i.v = kMatrix, i.k = Tensor::zeros({2, 3});
       }),
       "[2, 3]"},
      {"a head_dim of 0", [=] { explain(input(), {.head_dim = 0}); }, "at least 1"},
      {"a negative scaling", [=] { explain(input(), {.scaling = -1.0f}); }, "scaling"},
      {"a scaling of NaN", [=] { explain(input(), {.scaling = kNotANumber}); }, "scaling"},
      {"no such query", [=] { follow_query(explain(input()), 2); }, "token 2"},
      {"no steps", [] { follow_query({}, 0); }, "weights"},
      {"a step without a tensor", follow("scaled", Tensor()), "scaled"},
      {"a step that is too small", follow("exponentials", Tensor::zeros({1, 1})), "exponentials"},
      {"a step of f64", follow("values", f64), "f64"},
      {"a step without names",
       [=] {
         std::vector<ExplainStep> steps = explain(input());
         for (ExplainStep& step : steps) step.rows.clear();
         follow_query(steps, 1);
       },
       "name"},
  });
}

}  // namespace
}  // namespace regard::testing
