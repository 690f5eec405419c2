// Convert the tensors of a regard Transformer to those of a class of Hugging Face transformers.
#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/transformers_class.h"
#include "nn/positions.h"
#include "ops/parameter.h"
#include "regard/error.h"
#include "tensor/transposed.h"

namespace regard::models {
namespace {

// For each row (or column) of the result, the index of the row in the source; −1 means zeros. An empty order
// means no change.
using Order = std::vector<std::int64_t>;
constexpr std::int64_t kZeros = -1;

// Reorder the rows and columns of a matrix [rows, columns], or the elements of a vector [columns].
Tensor gathered(const Tensor& from, const Order& rows, const Order& columns) {
  const bool vector = from.shape().rank() == 1;
  const std::int64_t height = rows.empty() ? from.rows() : std::ssize(rows);
  const std::int64_t width = columns.empty() ? from.columns() : std::ssize(columns);
  Tensor to = Tensor::zeros(vector ? Shape{width} : Shape{height, width});
  for (std::int64_t r = 0; r < height; ++r) {
    const std::int64_t row = rows.empty() ? r : rows[static_cast<std::size_t>(r)];
    if (row == kZeros) continue;
    for (std::int64_t c = 0; c < width; ++c) {
      const std::int64_t column = columns.empty() ? c : columns[static_cast<std::size_t>(c)];
      if (column != kZeros) to.row(r)[c] = from.row(row)[column];
    }
  }
  return to;
}

Tensor multiplied(const Tensor& from, float factor) {
  Tensor to = from.clone();
  std::for_each(to.f32(), to.f32() + to.elements(), [factor](float& value) { value *= factor; });
  return to;
}

// Concatenate matrices [rows, columns] along rows, or vectors.
Tensor joined(const std::vector<Tensor>& parts) {
  std::int64_t rows = 0, elements = 0;
  for (const Tensor& part : parts) rows += part.shape()[0], elements += part.elements();
  const bool vector = parts[0].shape().rank() == 1;
  Tensor to = Tensor::empty(vector ? Shape{rows} : Shape{rows, parts[0].columns()});
  float* end = to.f32();
  for (const Tensor& part : parts) end = std::copy_n(part.f32(), part.elements(), end);
  return to;
}

// Return the order of units in transformers: all sines, then all cosines. In regard, the sine is at unit 2i
// and the cosine at unit 2i + 1.
Order sines_first(std::int64_t hidden) {
  Order order;
  for (const std::int64_t first : {0, 1})
    for (std::int64_t unit = first; unit < hidden; unit += 2) order.push_back(unit);
  return order;
}

struct LinearWeights {
  Tensor weight, bias;  // weight [out, in] and bias [out]
};

// Reads the weights of a regard model and applies the conversions that the class requires.
class Source {
 public:
  Source(Network& model, const TransformerConfig& config, bool reorders)
      : config_(config), hidden_(reorders ? sines_first(config.hidden_size) : Order()) {
    for (const Parameter* parameter : model.parameters()) by_name_[parameter->name] = parameter;
    const std::int64_t own = config.head_size > 0 ? config.head_size : config.hidden_size / config.heads;
    const std::int64_t kv_heads = config.kv_heads > 0 ? config.kv_heads : config.heads;
    const std::int64_t size = config.hidden_size / config.heads;
    scale_ = std::sqrt(static_cast<float>(size) / static_cast<float>(own));
    for (std::int64_t head = 0; head < config.heads; ++head)
      for (std::int64_t i = 0; i < size; ++i) {
        const std::int64_t shared = head / (config.heads / kv_heads);
        queries_.push_back(i < own ? head * own + i : kZeros);
        keys_.push_back(i < own ? shared * own + i : kZeros);
      }
  }

  const Tensor& get(const std::string& name) const {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) throw Error(ErrorKind::internal, "the model has no weight \"" + name + "\"");
    return found->second->value();
  }
  Tensor table(const std::string& name) const { return gathered(get(name + ".weight"), {}, hidden_); }
  Tensor norm(const std::string& name) const { return gathered(get(name), {}, hidden_); }

  LinearWeights linear(const std::string& name, const Order& rows, const Order& columns) const {
    const Tensor weight = gathered(get(name + ".weight"), rows, columns);
    return {weight, config_.bias ? gathered(get(name + ".bias"), {}, rows) : Tensor::zeros({weight.rows()})};
  }
  // The following functions return projections with as many key and value heads as query heads, and with
  // hidden_size / heads units per head.
  LinearWeights query(const std::string& prefix) const {
    const LinearWeights all = linear(prefix + "query", queries_, hidden_);
    return scale_ == 1.0f ? all : LinearWeights{multiplied(all.weight, scale_), multiplied(all.bias, scale_)};
  }
  LinearWeights key(const std::string& prefix) const { return linear(prefix + "key", keys_, hidden_); }
  LinearWeights value(const std::string& prefix) const { return linear(prefix + "value", keys_, hidden_); }
  LinearWeights output(const std::string& prefix) const {
    return linear(prefix + "output", hidden_, queries_);
  }
  LinearWeights up(const std::string& layer) const { return linear(layer + "feed_forward.up", {}, hidden_); }
  LinearWeights down(const std::string& layer) const {
    return linear(layer + "feed_forward.down", hidden_, {});
  }
  const TransformerConfig& config() const { return config_; }

 private:
  const TransformerConfig& config_;
  Order hidden_, queries_, keys_;
  // factor of the queries, √(hidden_size / heads / head_size), because the classes divide attention logits by
  // √(hidden_size / heads) and regard by √head_size
  float scale_ = 1.0f;
  std::unordered_map<std::string, const Parameter*> by_name_;
};

class Writer {
 public:
  explicit Writer(const Source& from) : from_(from) {}
  void add(const std::string& name, const Tensor& tensor) { tensors.push_back({name, tensor}); }
  void linear(const std::string& name, const LinearWeights& weights, bool bias = true) {
    add(name + ".weight", weights.weight);
    if (bias) add(name + ".bias", weights.bias);
  }
  // Add a linear layer whose weight is stored as [in, out].
  void transposed_linear(const std::string& name, const LinearWeights& weights) {
    add(name + ".weight", transposed(weights.weight));
    add(name + ".bias", weights.bias);
  }
  void layer_norm(const std::string& name, const std::string& ours) {
    const Tensor gain = from_.norm(ours + ".weight");
    add(name + ".weight", gain);
    add(name + ".bias", from_.config().bias ? from_.norm(ours + ".bias") : Tensor::zeros(gain.shape()));
  }

  std::vector<formats::NamedTensor> tensors;

 private:
  const Source& from_;
};

// Return the position table with one row per position: learned positions, sinusoids in `layout`, or zeros if
// the model has no positions.
Tensor position_table(const Source& from, const std::string& side, nn::SinusoidLayout layout) {
  const TransformerConfig& config = from.config();
  if (config.positions == "learned") return from.get(side + ".positions.weight").clone();
  const std::int64_t rows = transformers_positions(config);
  if (config.positions == "none") return Tensor::zeros({rows, config.hidden_size});
  return nn::sinusoids(rows, config.hidden_size, layout);
}

// The following functions convert to Marian, Pegasus and Blenderbot.

void add_side(const Source& from, const std::string& side, std::int64_t layers, Writer& to) {
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string number = side + ".layers." + std::to_string(i) + ".", layer = "model." + number;
    const auto attention = [&](const std::string& ours, const std::string& name) {
      to.linear(layer + name + ".q_proj", from.query(number + ours + "."));
      to.linear(layer + name + ".k_proj", from.key(number + ours + "."));
      to.linear(layer + name + ".v_proj", from.value(number + ours + "."));
      to.linear(layer + name + ".out_proj", from.output(number + ours + "."));
      to.layer_norm(layer + name + "_layer_norm", number + ours + "_norm");
    };
    attention("self_attention", "self_attn");
    if (side == "decoder") attention("cross_attention", "encoder_attn");
    to.linear(layer + "fc1", from.up(number));
    to.linear(layer + "fc2", from.down(number));
    to.layer_norm(layer + "final_layer_norm", number + "feed_forward_norm");
  }
  if (from.config().norm == "pre") to.layer_norm("model." + side + ".layer_norm", side + ".norm");
}

// Write the embedding tables and the output projection, tied as the class allows (transformers_class.cpp).
// Classes other than Marian always have a table model.shared, even if it is unused.
void add_tables(const Source& from, bool marian, Writer& to) {
  const std::string& tied = from.config().tie_embeddings;
  if (tied == "all") return to.add("model.shared.weight", from.table("embedding"));
  const Tensor encoder = from.table("encoder.embedding"), decoder = from.table("decoder.embedding");
  if (!marian) to.add("model.shared.weight", encoder);
  to.add("model.encoder.embed_tokens.weight", encoder);
  to.add("model.decoder.embed_tokens.weight", decoder);
  if (tied == "none") to.add("lm_head.weight", from.table("head"));
  if (tied == "decoder" && !marian) to.add("lm_head.weight", decoder);
}

std::vector<formats::NamedTensor> encoder_decoder(const Source& from, TransformersClass kind) {
  const TransformerConfig& config = from.config();
  const bool marian = kind == TransformersClass::marian;
  Writer to(from);
  add_tables(from, marian, to);
  add_side(from, "encoder", config.encoder_layers, to);
  add_side(from, "decoder", config.decoder_layers, to);
  // MarianMTModel computes its position table; its checkpoints contain none.
  for (const std::string side : {"encoder", "decoder"})
    if (!marian)
      to.add("model." + side + ".embed_positions.weight",
             position_table(from, side, nn::SinusoidLayout::halves));
  to.add("final_logits_bias", Tensor::zeros({1, config.vocabulary}));
  return std::move(to.tensors);
}

// The following functions convert to decoders (GPT-2, Llama).

// Write the embedding table, multiplied by √hidden_size if the model scales its embeddings. Also write the
// output table if it is untied or differs by this factor.
void add_decoder_tables(const Source& from, const std::string& name, Writer& to) {
  const TransformerConfig& config = from.config();
  const Tensor table = from.table("embedding");
  const bool scaled = config.scales_embeddings(), own = config.tie_embeddings == "none";
  const auto factor = static_cast<float>(std::sqrt(static_cast<double>(config.hidden_size)));
  to.add(name, scaled ? multiplied(table, factor) : table);
  if (own || scaled) to.add("lm_head.weight", own ? from.table("head") : table);
}

std::vector<formats::NamedTensor> gpt2(const Source& from) {
  Writer to(from);
  add_decoder_tables(from, "transformer.wte.weight", to);
  to.add("transformer.wpe.weight", position_table(from, "decoder", nn::SinusoidLayout::interleaved));
  for (std::int64_t i = 0; i < from.config().layers; ++i) {
    const std::string ours = "decoder.layers." + std::to_string(i) + ".";
    const std::string layer = "transformer.h." + std::to_string(i) + ".";
    const std::string attention = ours + "self_attention.";
    const LinearWeights query = from.query(attention), key = from.key(attention),
                        value = from.value(attention);
    to.transposed_linear(layer + "attn.c_attn", {joined({query.weight, key.weight, value.weight}),
                                                 joined({query.bias, key.bias, value.bias})});
    to.transposed_linear(layer + "attn.c_proj", from.output(attention));
    to.transposed_linear(layer + "mlp.c_fc", from.up(ours));
    to.transposed_linear(layer + "mlp.c_proj", from.down(ours));
    to.layer_norm(layer + "ln_1", ours + "self_attention_norm");
    to.layer_norm(layer + "ln_2", ours + "feed_forward_norm");
  }
  to.layer_norm("transformer.ln_f", "decoder.norm");
  return std::move(to.tensors);
}

std::vector<formats::NamedTensor> llama(const Source& from) {
  const TransformerConfig& config = from.config();
  Writer to(from);
  add_decoder_tables(from, "model.embed_tokens.weight", to);
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const std::string ours = "decoder.layers." + std::to_string(i) + ".";
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    const std::pair<const char*, const char*> attention[] = {
        {"q_proj", "query"}, {"k_proj", "key"}, {"v_proj", "value"}, {"o_proj", "output"}};
    for (const auto& [name, own] : attention)
      to.linear(layer + "self_attn." + name, from.linear(ours + "self_attention." + own, {}, {}),
                config.bias);
    const LinearWeights up = from.up(ours);
    if (config.gated) {
      to.linear(layer + "mlp.gate_proj", from.linear(ours + "feed_forward.gate", {}, {}), config.bias);
      to.linear(layer + "mlp.up_proj", up, config.bias);
    } else {  // without a gate, up_proj returns 1 for every input, so the product is activation(W x + b)
      LinearWeights one{Tensor::zeros(up.weight.shape()), Tensor::zeros(up.bias.shape())};
      std::fill_n(one.bias.f32(), one.bias.elements(), 1.0f);
      to.linear(layer + "mlp.gate_proj", up);
      to.linear(layer + "mlp.up_proj", one);
    }
    to.linear(layer + "mlp.down_proj", from.down(ours), config.bias || !config.gated);
    to.add(layer + "input_layernorm.weight", from.norm(ours + "self_attention_norm.weight"));
    to.add(layer + "post_attention_layernorm.weight", from.norm(ours + "feed_forward_norm.weight"));
  }
  to.add("model.norm.weight", from.norm("decoder.norm.weight"));
  return std::move(to.tensors);
}

}  // namespace

std::vector<formats::NamedTensor> transformers_weights(Network& model, const TransformerConfig& config) {
  const TransformersClass kind = transformers_class_of(config);
  const bool halves = kind == TransformersClass::marian || kind == TransformersClass::pegasus;
  const Source from(model, config, halves);
  if (kind == TransformersClass::gpt2) return gpt2(from);
  if (kind == TransformersClass::llama) return llama(from);
  return encoder_decoder(from, kind);
}

}  // namespace regard::models
