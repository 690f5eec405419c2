#include "regard/attention.h"

#include <cstring>
#include <limits>
#include <vector>

#include "api/check.h"
#include "api/pool.h"
#include "kernels/attention.h"
#include "regard/error.h"

namespace regard {

using namespace models;  // namespace models exposes the names of nn, ops, tensor and base (base/namespaces.h)
namespace {

void require(bool fits, const std::string& message, const Tensor& tensor, const std::string& expected) {
  if (!fits) throw usage_error("attention: " + message).found(tensor.shape().text()).expected(expected);
}

// Describes dense tensors as input of the ragged attention kernel. Each pair (batch, head) is a separate
// sequence with one head.
class Problem {
 public:
  Problem(const Tensor& q, const Tensor& k, const Tensor* v, const AttentionOptions& options) {
    check(q, k, v);
    check(options);
    const Shape& shape = q.shape();
    batch_ = shape[0], heads_ = shape[1], queries_ = shape[2], keys_ = k.shape()[2];
    kv_heads_ = k.shape()[1];
    kernel.head_dim = shape[3];
    kernel.value_dim = v != nullptr ? v->shape()[3] : shape[3];
    kernel.scale = options.scale, kernel.softcap = options.softcap;
    kernel.causal = options.causal, kernel.window = options.window;
    static_cast<kernels::AttentionSpec&>(kernel) = kernel.resolved();
    kernel.query = q.f32();
    kernel.query_stride = kernel.key_stride = kernel.head_dim;
    kernel.value_stride = kernel.out_stride = kernel.value_dim;
    lay_out(k, v, options);
    set_mask(options);
  }

  std::int64_t mask_row(const Tensor& mask, std::int64_t b, std::int64_t h) const {
    const std::int64_t mask_heads = mask.shape()[1];
    return (mask.shape()[0] == 1 ? 0 : b) * mask_heads + (mask_heads == 1 ? 0 : h);
  }

  kernels::Attention kernel;
  std::vector<kernels::AttentionSequence> sequences;

 private:
  static void check(const Tensor& q, const Tensor& k, const Tensor* v) {
    for (const Tensor* tensor : {&q, &k, v}) {
      if (tensor == nullptr) continue;
      api::require_tensor("attention", "a query, key or value", *tensor);
      require(tensor->shape().rank() == 4 && tensor->dtype() == DType::f32 && tensor->contiguous(),
              "queries, keys and values must be contiguous f32 tensors of four dimensions", *tensor,
              "[batch, heads, length, head_dim]");
    }
    require(q.shape()[3] > 0, "a head has no features", q, "a head_dim of at least 1");
    require(k.shape()[0] == q.shape()[0] && k.shape()[3] == q.shape()[3],
            "the shapes of keys and queries do not match", k, "batch and head_dim of " + q.shape().text());
    require(k.shape()[1] > 0 && q.shape()[1] % k.shape()[1] == 0,
            "the number of query heads is not a multiple of the number of key heads", k,
            "a number of key heads that divides the " + std::to_string(q.shape()[1]) + " query heads");
    if (v == nullptr) return;
    require(v->shape()[0] == k.shape()[0] && v->shape()[1] == k.shape()[1] && v->shape()[2] == k.shape()[2],
            "the shapes of values and keys do not match", *v,
            "batch, heads and length of " + k.shape().text());
  }

  static void check(const AttentionOptions& options) {
    constexpr double kAny = std::numeric_limits<double>::lowest();
    api::require_number("attention", "scale", static_cast<double>(options.scale), kAny);
    api::require_number("attention", "softcap", static_cast<double>(options.softcap), 0.0);
    api::require_number("attention", "window", static_cast<double>(options.window), 0.0);
  }

  void lay_out(const Tensor& k, const Tensor* v, const AttentionOptions& options) {
    const std::int64_t group = heads_ / kv_heads_;
    for (std::int64_t b = 0; b < batch_; ++b) {
      for (std::int64_t h = 0; h < heads_; ++h) {
        const std::int64_t kv_head = b * kv_heads_ + h / group;
        kernels::AttentionSequence sequence;
        sequence.query_begin = (b * heads_ + h) * queries_;
        sequence.queries = queries_;
        sequence.keys = keys_;
        sequence.key = k.f32() + kv_head * keys_ * kernel.head_dim;
        if (v != nullptr) sequence.value = v->f32() + kv_head * keys_ * kernel.value_dim;
        sequence.offset = options.alignment == CausalAlignment::end ? keys_ - queries_ : 0;
        sequence.index = static_cast<std::uint64_t>(b * heads_ + h);
        if (options.mask.defined()) sequence.mask_row = mask_row(options.mask, b, h);
        if (options.bias.defined()) sequence.mask_row = mask_row(options.bias, b, h);
        sequences.push_back(sequence);
      }
    }
    kernel.sequences = sequences;
  }

  void check_mask(const Tensor& mask) const {
    const Shape& s = mask.shape();
    const bool fits = s.rank() == 4 && mask.contiguous() && (s[0] == 1 || s[0] == batch_) &&
                      (s[1] == 1 || s[1] == heads_) && s[2] == queries_ && s[3] == keys_;
    require(fits, "the shape of mask or bias does not match", mask,
            "[1 or " + std::to_string(batch_) + ", 1 or " + std::to_string(heads_) + ", " +
                std::to_string(queries_) + ", " + std::to_string(keys_) + "]");
  }

  void set_mask(const AttentionOptions& options) {
    const bool masked = options.mask.defined(), biased = options.bias.defined();
    if (masked) {
      check_mask(options.mask);
      require(options.mask.dtype() == DType::boolean || options.mask.dtype() == DType::u8,
              std::string("the mask is ") + name_of(options.mask.dtype()) + "; pass a float mask as bias",
              options.mask, "boolean or u8");
      kernel.mask = options.mask.u8();
      kernel.mask_sequence_stride = queries_ * keys_;
      kernel.mask_query_stride = keys_;
    }
    if (biased) {
      check_mask(options.bias);
      api::require_f32("attention", "the bias", options.bias);
      kernel.bias = options.bias.f32();
      kernel.bias_sequence_stride = queries_ * keys_;
      kernel.bias_query_stride = keys_;
    }
    if (masked && biased &&
        (options.mask.shape()[0] != options.bias.shape()[0] ||
         options.mask.shape()[1] != options.bias.shape()[1]))
      throw usage_error("attention: the shape of the bias differs from the shape of the mask")
          .found(options.bias.shape().text())
          .expected(options.mask.shape().text());
  }

  std::int64_t batch_ = 0, heads_ = 0, kv_heads_ = 0, queries_ = 0, keys_ = 0;
};

Shape output_shape(const Tensor& q, const Tensor& v) {
  return {q.shape()[0], q.shape()[1], q.shape()[2], v.shape()[3]};
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  Problem problem(q, k, &v, options);
  Tensor out = Tensor::empty(output_shape(q, v));
  problem.kernel.out = out.f32();
  kernels::attention_forward(*api::pool(), problem.kernel);
  return out;
}

Tensor attention_weights(const Tensor& q, const Tensor& k, const AttentionOptions& options) {
  // The log-sum-exp does not depend on the values, so pass the keys `k` as the value tensor.
  Problem problem(q, k, &k, options);
  Tensor out = Tensor::empty(q.shape()), lse = Tensor::empty({q.rows()});
  problem.kernel.out = out.f32();
  problem.kernel.lse = lse.f32();
  kernels::attention_forward(*api::pool(), problem.kernel);
  const std::int64_t queries = q.shape()[2], keys = k.shape()[2];
  Tensor weights = Tensor::empty({q.shape()[0], q.shape()[1], queries, keys});
  for (std::size_t s = 0; s < problem.sequences.size(); ++s) {
    const auto sequence = static_cast<std::int64_t>(s);
    kernels::attention_weights(problem.kernel, sequence, 0, weights.f32() + sequence * queries * keys);
  }
  return weights;
}

AttentionGradients attention_backward(const Tensor& q, const Tensor& k, const Tensor& v,
                                      const Tensor& out_gradient, const AttentionOptions& options) {
  Problem problem(q, k, &v, options);
  kernels::Attention& kernel = problem.kernel;
  api::require_f32("attention_backward", "the gradient", out_gradient);
  require(out_gradient.shape() == output_shape(q, v) && out_gradient.contiguous(),
          "the shapes of gradient and output do not match", out_gradient, output_shape(q, v).text());
  Tensor out = Tensor::empty(output_shape(q, v)), lse = Tensor::empty({q.rows()});
  kernel.out = out.f32();
  kernel.lse = lse.f32();
  const auto pool = api::pool();
  kernels::attention_forward(*pool, kernel);

  const std::int64_t batch = q.shape()[0], heads = q.shape()[1], kv_heads = k.shape()[1], keys = k.shape()[2];
  AttentionGradients gradients{
      Tensor::empty(q.shape()), Tensor::zeros(k.shape()), Tensor::zeros(v.shape()), {}};
  // Each query head writes separate key and value gradients. The gradients of query heads that share a key
  // head are then summed in order.
  Tensor key_parts = Tensor::empty({batch * heads, keys * kernel.head_dim});
  Tensor value_parts = Tensor::empty({batch * heads, keys * kernel.value_dim});
  for (std::size_t s = 0; s < problem.sequences.size(); ++s) {
    problem.sequences[s].key_gradient = key_parts.row(static_cast<std::int64_t>(s));
    problem.sequences[s].value_gradient = value_parts.row(static_cast<std::int64_t>(s));
  }
  kernel.key_gradient_stride = kernel.head_dim;
  kernel.value_gradient_stride = kernel.value_dim;
  kernel.query_gradient = gradients.query.f32();
  kernel.query_gradient_stride = kernel.head_dim;
  kernel.out_gradient = out_gradient.f32();
  kernel.out_gradient_stride = kernel.value_dim;
  if (kernel.bias != nullptr) {
    gradients.bias = Tensor::zeros(options.bias.shape());
    kernel.bias_gradient = gradients.bias.f32();
  }
  kernels::attention_backward(*pool, kernel);
  const auto add_part = [](const Tensor& parts, std::int64_t part, Tensor& whole, std::int64_t at) {
    const std::int64_t size = parts.columns();
    for (std::int64_t i = 0; i < size; ++i) whole.f32()[at * size + i] += parts.row(part)[i];
  };
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t kv_head = b * kv_heads + h / (heads / kv_heads);
      add_part(key_parts, b * heads + h, gradients.key, kv_head);
      add_part(value_parts, b * heads + h, gradients.value, kv_head);
    }
  }
  return gradients;
}

}  // namespace regard
