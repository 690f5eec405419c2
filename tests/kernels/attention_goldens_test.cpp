// Attention compared with torch.nn.functional.scaled_dot_product_attention and the Attention cases of the
// ONNX project: outputs, gradients and intermediate scores.
#include <filesystem>
#include <limits>
#include <set>
#include <string>

#include "attention_case.h"
#include "isa_fixture.h"
#include "support/golden.h"
#include "support/shared_data.h"

namespace regard::kernels {
namespace {

using testing::AttentionCase;
using testing::Floats;
using testing::Golden;
using testing::PlainSequence;

class AttentionGolden : public testing::EachIsa {
 protected:
  ThreadPool pool_{2};
};
REGARD_EACH_ISA(AttentionGolden);

// [batch, heads, rows, width] ↔ [batch × rows, heads × width]
Floats heads_inside(const Tensor& from) {
  const Shape& shape = from.shape();
  const std::int64_t heads = shape[1], rows = shape[2], width = shape[3];
  Floats to(static_cast<std::size_t>(from.elements()));
  for (std::int64_t i = 0; i < from.elements(); ++i) {
    const std::int64_t c = i % width, row = i / width % rows, head = i / width / rows % heads;
    const std::int64_t batch = i / width / rows / heads;
    to[static_cast<std::size_t>(((batch * rows + row) * heads + head) * width + c)] = from.f32()[i];
  }
  return to;
}

Tensor heads_outside(const Floats& from, const Shape& shape) {
  const std::int64_t heads = shape[1], rows = shape[2], width = shape[3];
  Tensor to = Tensor::empty(shape);
  for (std::int64_t i = 0; i < to.elements(); ++i) {
    const std::int64_t c = i % width, row = i / width % rows, head = i / width / rows % heads;
    const std::int64_t batch = i / width / rows / heads;
    to.f32()[i] = from[static_cast<std::size_t>(((batch * rows + row) * heads + head) * width + c)];
  }
  return to;
}

// Concatenate `past` and `more` [batch, heads, rows, width] along the rows.
Tensor with_past(const Tensor& past, const Tensor& more) {
  const Shape& before = past.shape();
  const std::int64_t old_size = before[2] * before[3], new_size = more.shape()[2] * more.shape()[3];
  Tensor all = Tensor::empty({before[0], before[1], before[2] + more.shape()[2], before[3]});
  for (std::int64_t i = 0; i < before[0] * before[1]; ++i) {
    std::copy_n(past.f32() + i * old_size, old_size, all.f32() + i * (old_size + new_size));
    std::copy_n(more.f32() + i * new_size, new_size, all.f32() + i * (old_size + new_size) + old_size);
  }
  return all;
}

AttentionCase make_case(const Tensor& query, const Tensor& key, const Tensor& value, std::int64_t offset) {
  AttentionCase made;
  Attention& options = made.options;
  options.heads = query.shape()[1], options.kv_heads = key.shape()[1];
  options.head_dim = query.shape()[3], options.value_dim = value.shape()[3];
  options.scale = 1.0f / std::sqrt(static_cast<float>(options.head_dim));
  for (std::int64_t s = 0; s < query.shape()[0]; ++s)
    made.shapes.push_back({query.shape()[2], key.shape()[2], offset, static_cast<std::uint64_t>(s), s});
  made.query = heads_inside(query), made.key = heads_inside(key), made.value = heads_inside(value);
  made.out_gradient.resize(static_cast<std::size_t>(query.shape()[0] * query.shape()[2] * made.out_width()));
  return made;
}

// Set a mask or bias [(batch, (heads,)) queries, keys] and its strides; dimensions of size 1 are broadcast.
void set_mask(AttentionCase& made, const Tensor& mask) {
  const Shape& shape = mask.shape();
  const int rank = shape.rank();
  const std::int64_t query = shape[rank - 1], head = query * shape[rank - 2];
  const std::int64_t head_stride = rank > 2 && shape[rank - 3] > 1 ? head : 0;
  const std::int64_t sequence_stride =
      rank > 3 && shape[0] > 1 ? head * std::max<std::int64_t>(1, shape[1]) : 0;
  Attention& options = made.options;
  if (mask.dtype() == DType::f32) {
    made.bias.assign(mask.f32(), mask.f32() + mask.elements());
    options.bias_query_stride = query, options.bias_head_stride = head_stride;
    options.bias_sequence_stride = sequence_stride;
  } else {
    made.mask.assign(mask.u8(), mask.u8() + mask.elements());
    options.mask_query_stride = query, options.mask_head_stride = head_stride;
    options.mask_sequence_stride = sequence_stride;
  }
}

TEST_P(AttentionGolden, Torch) {
  for (const char* name : {"sdpa-bool", "sdpa-causal", "sdpa-causal-rect", "sdpa-float", "sdpa-gqa",
                           "sdpa-gqa-causal-scale", "sdpa-plain", "sdpa-scale"}) {
    SCOPED_TRACE(name);
    const Golden golden("tf-layer", name);
    // In PyTorch, causal query i attends to keys 0 to i, even if there are more keys than queries: the offset
    // is 0.
    AttentionCase made =
        make_case(golden.tensor("in.query"), golden.tensor("in.key"), golden.tensor("in.value"), 0);
    made.options.causal = golden.about().value("is_causal", false);
    if (golden.about().contains("scale")) made.options.scale = golden.about()["scale"].get<float>();
    if (golden.has("in.attn_mask")) set_mask(made, golden.tensor("in.attn_mask"));
    made.out_gradient = heads_inside(golden.tensor("r.output"));
    const Attention problem = made.problem(true);
    attention_forward(pool_, problem);
    attention_backward(pool_, problem);
    const Tensor output = golden.tensor("out.output");
    testing::expect_output(heads_outside(made.out, output.shape()), output, "output");
    const auto expect_gradient = [&](const Floats& got, const char* of) {
      const Tensor truth = golden.tensor(std::string("grad.in.") + of);
      testing::expect_gradient(heads_outside(got, truth.shape()), truth, of);
    };
    expect_gradient(made.query_gradient, "query");
    expect_gradient(made.key_gradient, "key");
    expect_gradient(made.value_gradient, "value");
    if (golden.has("grad.in.attn_mask")) {
      const Tensor truth = golden.tensor("grad.in.attn_mask");
      testing::expect_gradient(Tensor::view(made.bias_gradient.data(), truth.shape()), truth, "bias");
    }
  }
}

// Compare scores. Infinities must be equal, since their difference is NaN.
void expect_scores(Floats got, const Tensor& truth) {
  Tensor finite = truth.clone();
  for (std::int64_t i = 0; i < truth.elements(); ++i) {
    if (!std::isinf(truth.f32()[i])) continue;
    EXPECT_EQ(got[static_cast<std::size_t>(i)], truth.f32()[i]);
    got[static_cast<std::size_t>(i)] = finite.f32()[i] = 0.0f;
  }
  testing::expect_output(Tensor::view(got.data(), truth.shape()), finite, "scores");
}

// Compute the output that `qk_matmul_output_mode` selects, [batch, heads, queries, keys], with the reference
// implementation.
Floats plain_scores(const AttentionCase& made, std::int64_t mode) {
  Floats all;
  for (std::size_t s = 0; s < made.shapes.size(); ++s) {
    const PlainSequence<float> sequence(made, s);
    const auto result = ops::plain::attention(sequence.problem);
    const Floats* const stages[] = {&result.product, &result.capped, &result.score, &result.weight};
    all.insert(all.end(), stages[mode]->begin(), stages[mode]->end());
  }
  return all;
}

TEST_P(AttentionGolden, Onnx) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(testing::golden("onnx")))
    if (entry.path().filename().string().rfind("test_attention_", 0) == 0) names.insert(entry.path().stem());
  ASSERT_EQ(names.size(), 37u);
  std::set<std::int64_t> modes;
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const Golden golden("onnx", name);
    Tensor key = golden.tensor("in.K"), value = golden.tensor("in.V");
    std::int64_t past = 0;
    if (golden.has("in.past_key")) {
      past = golden.tensor("in.past_key").shape()[2];
      key = with_past(golden.tensor("in.past_key"), key);
      value = with_past(golden.tensor("in.past_value"), value);
      testing::expect_close(key, golden.tensor("out.present_key"), 0.0, 1.0, "present key");
      testing::expect_close(value, golden.tensor("out.present_value"), 0.0, 1.0, "present value");
    }
    AttentionCase made = make_case(golden.tensor("in.Q"), key, value, past);
    const Json attributes = golden.about()["attributes"];
    made.options.causal = attributes.value("is_causal", 0) != 0;
    made.options.scale = attributes.value("scale", made.options.scale);
    made.options.softcap = attributes.value("softcap", 0.0f);
    if (golden.has("in.attn_mask")) set_mask(made, golden.tensor("in.attn_mask"));
    attention_forward(pool_, made.problem(false));
    const Tensor output = golden.tensor("out.Y");
    testing::expect_output(heads_outside(made.out, output.shape()), output, "Y");
    if (!golden.has("out.qk_matmul_output")) continue;
    const std::int64_t mode = attributes.value("qk_matmul_output_mode", 0);
    modes.insert(mode);
    expect_scores(plain_scores(made, mode), golden.tensor("out.qk_matmul_output"));
  }
  EXPECT_EQ(modes, (std::set<std::int64_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace regard::kernels
