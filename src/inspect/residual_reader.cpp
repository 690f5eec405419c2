#include "inspect/residual_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "inspect/answer_pass.h"
#include "inspect/residual_pass.h"
#include "regard/error.h"
#include "tensor/arena.h"

namespace regard::inspect {
namespace {

double norm_of(const float* row, std::int64_t count) {
  double squares = 0;
  for (std::int64_t i = 0; i < count; ++i)
    squares += static_cast<double>(row[i]) * static_cast<double>(row[i]);
  return std::sqrt(squares);
}

// The final norm with a frozen scale, which is a linear function of the residual. It is derived from outputs
// of the model's norm. For a vector c and a large factor k, the epsilon of the norm is negligible:
//   norm(k c) − norm(0) = gain · centred(c) / size(c)
// size is the standard deviation (layer norm) or the root mean square (RMS norm).
class FrozenNorm {
 public:
  FrozenNorm(Network& model, ThreadPool& pool, std::int64_t layers, std::int64_t width)
      : model_(model), pool_(pool), layers_(layers), width_(width) {
    Tensor probe = Tensor::zeros({3, width});
    for (std::int64_t i = 0; i < width; ++i) {
      probe.row(1)[i] = 1000.0f;
      probe.row(2)[i] = i % 2 == 0 ? 1000.0f : -1000.0f;
    }
    const Tensor out = normed(probe);
    bias_.assign(out.row(0), out.row(0) + width);
    // Detect the kind of norm: a layer norm maps a constant vector to its bias, and without a norm the output
    // equals the input.
    const double constant = distance(out, 1), alternating = distance(out, 2);
    centres_ = constant < 0.5 * alternating;
    scales_ = alternating < 0.5 * norm_of(probe.row(2), width);
  }

  // Return the rows after the norm, without its bias. The scale of the norm is frozen at its value for
  // `whole` [1, width].
  Tensor images(const Tensor& rows, const Tensor& whole) const {
    Tensor all = Tensor::empty({rows.rows() + 2, width_});
    for (std::int64_t r = 0; r < rows.rows(); ++r) stretch(rows.row(r), all.row(r));
    stretch(whole.row(0), all.row(rows.rows()));
    std::copy_n(whole.row(0), width_, all.row(rows.rows() + 1));
    const Tensor out = normed(all);
    // Compute the number by which the norm divides `whole`: its standard deviation or root mean square,
    // corrected for the epsilon of the norm.
    const double own = distance(out, rows.rows() + 1), free = distance(out, rows.rows());
    const double scale = size_of(whole.row(0)) * (own > 0 ? free / own : 1.0);
    Tensor images = Tensor::empty(rows.shape());
    for (std::int64_t r = 0; r < rows.rows(); ++r) {
      const double factor = scales_ ? size_of(rows.row(r)) / scale : 1.0 / stretch_of(rows.row(r));
      for (std::int64_t i = 0; i < width_; ++i)
        images.row(r)[i] =
            static_cast<float>(factor * (static_cast<double>(out.row(r)[i]) -
                                         static_cast<double>(bias_[static_cast<std::size_t>(i)])));
    }
    return images;
  }

  const std::vector<float>& bias() const { return bias_; }

 private:
  Tensor normed(const Tensor& rows) const {
    PointCapture capture;
    capture.want("decoder.output");
    InjectedPass pass(&capture);
    skip_layers(pass, layers_, rows);
    Arena arena;
    Tape tape(pool_, arena);
    run_rows(tape, model_, rows.rows(), pass);
    return capture.at("decoder.output");
  }
  double distance(const Tensor& out, std::int64_t row) const {
    double squares = 0;
    for (std::int64_t i = 0; i < width_; ++i) {
      const double d =
          static_cast<double>(out.row(row)[i]) - static_cast<double>(bias_[static_cast<std::size_t>(i)]);
      squares += d * d;
    }
    return std::sqrt(squares);
  }
  double size_of(const float* row) const {
    double mean = 0, squares = 0;
    for (std::int64_t i = 0; i < width_ && centres_; ++i)
      mean += static_cast<double>(row[i]) / static_cast<double>(width_);
    for (std::int64_t i = 0; i < width_; ++i) {
      const double d = static_cast<double>(row[i]) - mean;
      squares += d * d / static_cast<double>(width_);
    }
    return std::sqrt(squares);
  }
  double stretch_of(const float* row) const {
    const double size = size_of(row);
    return size > 0 ? 1000.0 / size : 1.0;
  }
  void stretch(const float* row, float* to) const {
    const double factor = stretch_of(row);
    for (std::int64_t i = 0; i < width_; ++i)
      to[i] = static_cast<float>(factor * static_cast<double>(row[i]));
  }

  Network& model_;
  ThreadPool& pool_;
  std::int64_t layers_, width_;
  std::vector<float> bias_;
  bool centres_ = true, scales_ = true;
};

// Collects the components of the residual at one position.
struct Components {
  std::vector<DirectShare> names;
  std::vector<std::vector<float>> rows;

  void add(std::string name, std::optional<Head> head, const float* row, std::int64_t width) {
    names.push_back({std::move(name), head, 0.0});
    rows.emplace_back(row, row + width);
  }
};

// The values of one pass at the probe points, and the output of each head at one position.
struct HeadedPass {
  const ModelPoints& points;
  const PointCapture& values;
  const EditedPass* edits;  // interventions of the pass; may be null
  const std::map<Head, std::vector<float>>& heads;
};

void add_attention(const HeadedPass& pass, Kind kind, std::int64_t layer, std::int64_t position,
                   Components& components) {
  const std::string point = attention_name(kind, layer);
  const auto found = pass.points.heads.find({kind, layer});
  if (found == pass.points.heads.end()) return;
  const Tensor& output = pass.values.at(point + ".output");
  if (pass.edits != nullptr && pass.edits->changes(point + ".output"))
    return components.add(point, std::nullopt, output.row(position), output.columns());
  std::vector<float> bias(output.row(position), output.row(position) + output.columns());
  for (std::int64_t h = 0; h < found->second; ++h) {
    const Head head{kind, layer, h};
    const std::vector<float>& row = pass.heads.at(head);
    components.add(head.text(), head, row.data(), output.columns());
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] -= row[i];
  }
  components.add(point + ".bias", std::nullopt, bias.data(), output.columns());
}

[[noreturn]] void no_sum_of_branches() {
  throw usage_error("direct attribution needs a residual that is the sum of its branches")
      .found("a model that normalises the residual or the outputs of its branches, or has other branches")
      .expected("a pre-norm Transformer decoder");
}

// Return the number of layers. Throws usage if a layer has other branches than attention and feed-forward.
std::int64_t branched_layers(const ModelPoints& points) {
  const std::int64_t layers = decoder_layers(points);
  for (std::int64_t layer = 0; layer < layers; ++layer)
    if (points.features.count(fmt::format("decoder.{}.feed_forward.output", layer)) == 0)
      no_sum_of_branches();
  return layers;
}

void require_sum(const Components& components, const float* residual, std::int64_t width) {
  double wrong = 0, whole = 0;
  for (std::int64_t i = 0; i < width; ++i) {
    double sum = 0;
    for (const std::vector<float>& row : components.rows)
      sum += static_cast<double>(row[static_cast<std::size_t>(i)]);
    wrong = std::max(wrong, std::abs(sum - static_cast<double>(residual[i])));
    whole = std::max(whole, std::abs(static_cast<double>(residual[i])));
  }
  if (wrong > 1e-3 * std::max(whole, 1.0)) no_sum_of_branches();
}

// Return the output of each head [hidden] after the output projection, without its bias, at one position of
// the pass. Throws usage for a model that normalises the sum of its heads.
std::map<Head, std::vector<float>> head_outputs(Network& model, ThreadPool& pool, const ModelPoints& points,
                                                const PointCapture& pass, std::int64_t position) {
  std::map<Head, std::vector<float>> outputs;
  for (const auto& [place, count] : points.heads) {
    if (place.first == Kind::encoder) continue;
    const std::string point = attention_name(place.first, place.second);
    const Tensor& context = pass.at(point + ".context");
    const std::int64_t size = context.columns() / count;
    // The rows are inputs of the output projection. Row 1 + h is the context of head h, with zeros for the
    // other heads. Row 0 is zero; its output, the bias, is subtracted below.
    Tensor rows = Tensor::zeros({1 + count, context.columns()});
    for (std::int64_t h = 0; h < count; ++h)
      std::copy_n(context.row(position) + h * size, size, rows.row(1 + h) + h * size);
    PointCapture capture;
    capture.want(point + ".output");
    InjectedPass inject(&capture);
    inject.put(point + ".context", rows);
    Arena arena;
    Tape tape(pool, arena);
    run_rows(tape, model, rows.rows(), inject);
    const Tensor& out = capture.at(point + ".output");
    for (std::int64_t h = 0; h < count; ++h) {
      std::vector<float>& of_head = outputs[{place.first, place.second, h}];
      for (std::int64_t i = 0; i < out.columns(); ++i) of_head.push_back(out.row(1 + h)[i] - out.row(0)[i]);
    }
  }
  return outputs;
}

void require_in_range(const AnswerDifference& measured, std::int64_t tokens, std::int64_t vocabulary) {
  if (measured.position < 0 || measured.position >= tokens)
    throw usage_error("the position is out of range")
        .found(std::to_string(measured.position))
        .expected(fmt::format("a position from 0 to {}", tokens - 1));
  for (const std::int32_t id : {measured.answer, std::max(measured.instead, 0)})
    if (id < 0 || id >= vocabulary)
      throw usage_error("the token id is out of range")
          .found(std::to_string(id))
          .expected(fmt::format("an id from 0 to {}", vocabulary - 1));
}

}  // namespace

DirectAttribution direct_attribution(Network& model, ThreadPool& pool, const StudyExample& example,
                                     const AnswerDifference& measured, const EditedPass* edits) {
  const auto [position, answer, instead] = measured;
  require_next_token(model);
  require_unchanged(edits, "decoder.output", "a direct attribution");
  require_in_range(measured, std::ssize(example.input.target), model.vocabulary());
  const ModelPoints points = ModelPoints::of(model, pool);
  const std::int64_t layers = branched_layers(points);
  PointCapture pass;
  for (const auto& [point, features] : points.features) pass.want(point);
  const Tensor model_logits = run_pass(model, pool, example.input, edits, pass);
  const auto difference = [answer, instead](const float* row) {
    return static_cast<double>(row[answer]) - (instead < 0 ? 0.0 : static_cast<double>(row[instead]));
  };
  const double whole = difference(model_logits.row(position));
  require_finite(whole);
  const auto heads = head_outputs(model, pool, points, pass, position);
  Components components;
  const Tensor& residual = pass.at(fmt::format("decoder.{}.residual", layers - 1));
  const std::int64_t width = residual.columns();
  components.add("embedding", std::nullopt, pass.at("decoder.embedding").row(position), width);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    require_unchanged(edits, fmt::format("decoder.{}.residual", layer), "a direct attribution");
    for (const Kind kind : {Kind::decoder, Kind::cross})
      add_attention({points, pass, edits, heads}, kind, layer, position, components);
    const std::string name = fmt::format("decoder.{}.feed_forward", layer);
    components.add(name, std::nullopt, pass.at(name + ".output").row(position), width);
  }
  require_sum(components, residual.row(position), width);
  Tensor rows = Tensor::empty({std::ssize(components.rows), width});
  for (std::size_t r = 0; r < components.rows.size(); ++r)
    std::copy(components.rows[r].begin(), components.rows[r].end(), rows.row(static_cast<std::int64_t>(r)));
  const FrozenNorm norm(model, pool, layers, width);
  const Tensor images = norm.images(rows, residual.slice_rows(position, position + 1).clone());

  // The model's output projection is an affine function of the normalised residual. Its value at 0 is the
  // bias.
  Tensor inputs = Tensor::zeros({images.rows() + 1, width});
  std::copy_n(images.f32(), images.elements(), inputs.row(1));
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({});
  const Tensor logits = model.logits(tape, tape.constant(inputs))->value;
  DirectAttribution out;
  out.difference = out.rest = whole;
  for (std::size_t r = 0; r < components.names.size(); ++r) {
    DirectShare share = components.names[r];
    share.share = difference(logits.row(static_cast<std::int64_t>(r) + 1)) - difference(logits.row(0));
    out.rest -= share.share;
    out.shares.push_back(std::move(share));
  }
  return out;
}

}  // namespace regard::inspect
