#include "cli/explain_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "base/counted.h"
#include "cli/explain_source.h"
#include "cli/output.h"
#include "infer/loaded_model.h"
#include "inspect/pass_input.h"
#include "inspect/shown_tokens.h"
#include "models/network.h"
#include "regard/error.h"
#include "regard/print.h"

namespace regard::cli {
namespace {

// Records the values of one layer in the encoder and in the decoder, and the input of that layer.
class LayerProbe : public Probe {
 public:
  explicit LayerProbe(std::int64_t layer) : layer_(layer) {}
  bool wants(std::string_view point) override {
    bool wanted = false;
    for (const char* side : {"encoder", "decoder"}) {
      if (point == fmt::format("{}.{}.self.output", side, layers_)) ++layers_;
      wanted |= point == input_of(side) || point.starts_with(fmt::format("{}.{}.", side, layer_));
    }
    return wanted;
  }
  void see(std::string_view point, std::int64_t, const Tensor& value) override {
    seen_[std::string(point)] = value.clone();
  }
  // Return the value at the probe point SIDE.LAYER.WHAT; null if the model has no such probe point.
  const Tensor* at(const std::string& side, const std::string& what) const {
    return find(fmt::format("{}.{}.{}", side, layer_, what));
  }
  const Tensor* input(const std::string& side) const { return find(input_of(side)); }
  // Return the number of layers of the encoder or of the decoder, whichever is larger.
  std::int64_t layers() const { return layers_; }

 private:
  std::string input_of(const std::string& side) const {
    return layer_ == 0 ? side + ".embedding" : fmt::format("{}.{}.residual", side, layer_ - 1);
  }
  const Tensor* find(const std::string& point) const {
    const auto found = seen_.find(point);
    return found == seen_.end() ? nullptr : &found->second;
  }
  std::int64_t layer_;
  std::int64_t layers_ = 0;
  std::map<std::string, Tensor> seen_;
};

struct Side {
  std::string name;  // "encoder" or "decoder"
  // tokens of the encoder or decoder; `sources`: tokens that its cross-attention attends to
  std::vector<std::string> tokens, sources;
};

using TokenRow = std::vector<float>;

TokenRow token_row(const Tensor& all, std::int64_t token) {
  return {all.row(token), all.row(token) + all.columns()};
}

std::string token_row_text(const TokenRow& row) {
  std::string text = fmt::format("[{}] ", row.size());
  const std::size_t most = std::min<std::size_t>(row.size(), 6);
  for (std::size_t i = 0; i < most; ++i) text += fmt::format("{}{:.3f}", i == 0 ? "[" : ", ", row[i]);
  return text + (most < row.size() ? ", …]" : "]");
}

double length_of(const TokenRow& row) {
  double sum = 0;
  for (const float x : row) sum += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(sum);
}

TokenRow sum_of(const TokenRow& a, const TokenRow& b) {
  TokenRow sum = a;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
  return sum;
}

float largest_difference_of(const TokenRow& a, const TokenRow& b) {
  float largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

class BlockText {
 public:
  BlockText(const LayerProbe& probe, const Side& side, std::int64_t token, bool pre_norm)
      : probe_(probe), side_(side), token_(token), pre_norm_(pre_norm) {}

  std::string text() {
    x_ = token_row(*probe_.input(side_.name), token_);
    line("x", "input of the layer", x_);
    branch("self", "self-attention", "tokens of this text");
    if (probe_.at(side_.name, "cross.output") != nullptr)
      branch("cross", "cross-attention", "tokens of the encoder");
    feed_forward();
    const Tensor* residual = probe_.at(side_.name, "residual");
    if (residual == nullptr) return text_;
    const TokenRow leaves = token_row(*residual, token_);
    line("result", "output of the layer", leaves);
    if (pre_norm_)
      text_ += fmt::format("  The sum above and the layer's result agree to within {:.0e}.\n",
                           std::max(1e-9f, largest_difference_of(x_, leaves)));
    return text_;
  }

 private:
  void line(const std::string& symbol, const std::string& what, const TokenRow& row) {
    text_ +=
        fmt::format("  {:<10} {:<44} {}  length {:.3f}\n", symbol, what, token_row_text(row), length_of(row));
  }

  // Append the layer norm of the residual sum so far, without gain and bias: (x − μ) / √(σ² + ε). `used`, if
  // given, is the layer norm with gain and bias: the input of the next sublayer.
  void norm(const std::optional<TokenRow>& used) {
    double mean = 0, variance = 0;
    for (const float v : x_) mean += static_cast<double>(v) / static_cast<double>(x_.size());
    for (const float v : x_)
      variance += std::pow(static_cast<double>(v) - mean, 2) / static_cast<double>(x_.size());
    TokenRow normal = x_;
    for (float& v : normal)
      v = static_cast<float>((static_cast<double>(v) - mean) / std::sqrt(variance + 1e-5));
    text_ += fmt::format("  {:<10} mean μ = {:.4f}, variance σ² = {:.4f}\n", "norm", mean, variance);
    line("", "(x − μ) / √(σ² + 1e-5)", normal);
    if (used) line("LN(x)", "· gain + bias: input of the sublayer", *used);
  }

  void add(const TokenRow& output, const std::string& formula) {
    x_ = sum_of(x_, output);
    line("x", formula, x_);
    if (!pre_norm_) norm({});
  }

  // Append the last residual sum of a post-norm layer as a formula without numbers, because no probe point
  // reports LN(x), the output of the preceding layer norm with gain and bias.
  void end_post_norm() {
    text_ +=
        fmt::format("  {:<10} result = LN(LN(x) + f): residual, then layer norm with gain and bias\n", "x");
  }

  void branch(const std::string& name, const std::string& title, const std::string& where) {
    text_ += fmt::format("{} ({})\n", title, where);
    const TokenRow read = token_row(*probe_.at(side_.name, name + ".input"), token_);
    if (pre_norm_)
      norm(read);
    else if (name == "cross")
      x_ = read;  // output of the preceding layer norm, with gain and bias applied
    weights(name);
    const TokenRow output = token_row(*probe_.at(side_.name, name + ".output"), token_);
    line("a", "concatenated heads · W_O", output);
    add(output, "residual: x + a");
  }

  // Append the three largest attention weights of each of the first eight heads.
  void weights(const std::string& name) {
    const Tensor* all = probe_.at(side_.name, name + ".weights");
    if (all == nullptr || all->shape().rank() != 3) return;
    const std::vector<std::string>& keys = name == "cross" ? side_.sources : side_.tokens;
    const std::int64_t heads = all->shape()[0], queries = all->shape()[1];
    for (std::int64_t head = 0; head < std::min<std::int64_t>(heads, 8); ++head) {
      const float* row = all->row(head * queries + token_);
      std::vector<std::size_t> order(keys.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      const std::size_t most = std::min<std::size_t>(3, order.size());
      std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(),
                        [row](std::size_t a, std::size_t b) { return row[a] > row[b]; });
      std::string best;
      for (std::size_t i = 0; i < most; ++i)
        best += fmt::format("{}{} {:.2f}", i == 0 ? "" : ", ", keys[order[i]], row[order[i]]);
      text_ += fmt::format("  head {:<5} weights: {}\n", head, best);
    }
    if (heads > 8) text_ += fmt::format("  … {}\n", counted(heads - 8, "more head"));
  }

  void feed_forward() {
    const Tensor *inner = probe_.at(side_.name, "feed_forward.inner"),
                 *output = probe_.at(side_.name, "feed_forward.output");
    if (inner == nullptr || output == nullptr) return;
    text_ += "feed-forward layer (only this token)\n";
    if (pre_norm_) norm({});
    const TokenRow wide = token_row(*inner, token_);
    line("h", "activation(LN(x) W_1 + b_1)", wide);
    const auto zeros = std::ranges::count(wide, 0.0f);
    text_ += fmt::format("  {:<10} {} of {} features are not 0\n", "", std::ssize(wide) - zeros, wide.size());
    const TokenRow narrow = token_row(*output, token_);
    line("f", "h W_2 + b_2", narrow);
    if (pre_norm_)
      add(narrow, "residual: x + f");
    else
      end_post_norm();
  }

  const LayerProbe& probe_;
  const Side& side_;
  std::int64_t token_;
  bool pre_norm_;
  TokenRow x_;
  std::string text_;
};

std::vector<std::string> shown_all(const text::Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  std::vector<std::string> tokens;
  for (const std::int32_t id : ids) tokens.push_back(inspect::shown_token(tokenizer, id));
  return tokens;
}

// Return true if the layer is pre-norm.
bool normalises_first(const LayerProbe& probe, const std::string& side) {
  // A pre-norm layer outputs the sum of its input and the outputs of its sublayers. A post-norm layer
  // normalises this sum.
  const Tensor *input = probe.input(side), *residual = probe.at(side, "residual");
  TokenRow sum = token_row(*input, 0);
  for (const char* part : {"self.output", "cross.output", "feed_forward.output"})
    if (const Tensor* output = probe.at(side, part)) sum = sum_of(sum, token_row(*output, 0));
  return largest_difference_of(sum, token_row(*residual, 0)) < 1e-3f * static_cast<float>(1 + length_of(sum));
}

}  // namespace

std::string block_text(const BlockRequest& request, ThreadPool& pool) {
  const infer::LoadedModel loaded = infer::LoadedModel::open(request.model);
  print_warning(loaded.warning);
  const inspect::PassInput input = inspect::pass_input(loaded, pool, request.text, request.target);
  const std::int64_t longest = std::max(std::ssize(input.source.ids), std::ssize(input.target));
  if (longest > kMostExplained)
    throw input_error("TEXT is too long to explain")
        .found(counted(longest, "token"))
        .expected(fmt::format("at most {} tokens", kMostExplained));
  LayerProbe probe(request.layer);
  inspect::run_pass(*loaded.model, pool, input, &probe);
  std::vector<Side> sides;
  Side encoder{"encoder", {}, {}}, decoder{"decoder", {}, {}};
  if (!input.source.ids.empty()) encoder.tokens = shown_all(*loaded.source, input.source.ids);
  if (!input.target.empty()) decoder.tokens = shown_all(*loaded.target, input.target);
  decoder.sources = encoder.tokens;
  for (const Side& side : {encoder, decoder})
    if (!side.tokens.empty() && probe.input(side.name) != nullptr &&
        probe.at(side.name, "self.output") != nullptr && probe.at(side.name, "residual") != nullptr)
      sides.push_back(side);
  if (sides.empty())
    throw usage_error("the model has no such Transformer layer")
        .at({request.model, -1, -1})
        .found(std::to_string(request.layer))
        .expected(probe.layers() == 0 ? "a Transformer"
                                      : fmt::format("a layer from 0 to {}", probe.layers() - 1));
  std::string text;
  for (const Side& side : sides) {
    std::int64_t token = std::ssize(side.tokens) - 1;
    if (!request.query.empty() && &side == &sides.back()) token = find_token(request.query, side.tokens);
    const bool pre_norm = normalises_first(probe, side.name);
    text += fmt::format("{}layer {} of the {}, token {} '{}' of {}; layer norm {}\n",
                        text.empty() ? "" : "\n", request.layer, side.name, token,
                        side.tokens[static_cast<std::size_t>(token)], side.tokens.size(),
                        pre_norm ? "before each layer (pre-norm)" : "after each sum (post-norm)");
    text += BlockText(probe, side, token, pre_norm).text();
  }
  return text;
}

}  // namespace regard::cli
