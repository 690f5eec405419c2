#include "inspect/residual_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "inspect/study_pass.h"
#include "ops/embedding.h"
#include "ops/tape.h"
#include "regard/error.h"
#include "tensor/arena.h"

namespace regard::inspect {
namespace {

void require_next_token(Network& model) {
  if (model.kind() == ModelKind::encoder || model.output() != Output::next_token)
    throw usage_error("the model does not predict the next token")
        .expected("a decoder or an encoder-decoder");
}

std::int64_t layers_of(const ModelPoints& points) {
  std::int64_t layers = 0;
  while (points.features.count(fmt::format("decoder.{}.residual", layers)) != 0) ++layers;
  return layers;
}

// Run the decoder with `probe` on `rows` sequences of one token each; return the logits [rows, vocabulary].
Tensor run_rows(Network& model, ThreadPool& pool, std::int64_t rows, Probe& probe) {
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({});
  RaggedBuffer shape;
  for (std::int64_t row = 0; row < rows; ++row) shape.add(1, static_cast<std::uint64_t>(row));
  const std::vector<std::int32_t> ids(static_cast<std::size_t>(rows), 0);
  // The results do not depend on the encoder's output, so one encoder position per row is sufficient.
  InputBuffer sources;
  Memory memory;
  if (model.kind() == ModelKind::encoder_decoder) {
    const ModelInput blank = model.input_spec().blank();
    sources.add(blank, model.input_spec().length_of(blank), 0);
    memory.shape = shape.view();
    memory.hidden = ops::select_rows(tape, model.encode(tape, sources.batch()), ids);
  }
  tape.probe = &probe;
  Var hidden = model.decode(tape, {ids, shape.view()}, memory.hidden != nullptr ? &memory : nullptr, nullptr);
  return model.logits(tape, hidden)->value.clone();
}

// Return the logits that the model computes from rows of the last layer's residual.
Tensor logits_of(Network& model, ThreadPool& pool, std::int64_t layers, const Tensor& residual) {
  InjectedPass pass;
  pass.skip("decoder", layers, residual);
  // A network that does not support skip() computes all layers, so replace its last residual.
  pass.put(fmt::format("decoder.{}.residual", layers - 1), residual);
  return run_rows(model, pool, residual.rows(), pass);
}

struct Softmax {
  double most = 0, sum = 0;
  explicit Softmax(const float* row, std::int64_t count) {
    most = static_cast<double>(*std::max_element(row, row + count));
    for (std::int64_t i = 0; i < count; ++i) sum += std::exp(static_cast<double>(row[i]) - most);
  }
  double of(float logit) const { return std::exp(static_cast<double>(logit) - most) / sum; }
};

double norm_of(const float* row, std::int64_t count) {
  double squares = 0;
  for (std::int64_t i = 0; i < count; ++i)
    squares += static_cast<double>(row[i]) * static_cast<double>(row[i]);
  return std::sqrt(squares);
}

// The final norm with a frozen scale, as a linear function of the residual, computed from outputs of the
// norm. For a vector c and a large factor k, the epsilon is negligible:
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
    pass.skip("decoder", layers_, rows);
    run_rows(model_, pool_, rows.rows(), pass);
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

// The values of one pass at the probe points, and the output of each head.
struct HeadedPass {
  const ModelPoints& points;
  const PointCapture& values;
  const EditedPass* edits;  // interventions of the pass; may be null
  const std::map<Head, Tensor>& heads;
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
    const float* row = pass.heads.at(head).row(position);
    components.add(head.text(), head, row, output.columns());
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
  const std::int64_t layers = layers_of(points);
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

}  // namespace

std::map<Head, Tensor> head_outputs(Network& model, ThreadPool& pool, const ModelPoints& points,
                                    const PointCapture& pass) {
  std::map<Head, Tensor> outputs;
  for (const auto& [place, count] : points.heads) {
    if (place.first == Kind::encoder) continue;
    const std::string point = attention_name(place.first, place.second);
    const Tensor& context = pass.at(point + ".context");
    const std::int64_t tokens = context.rows(), size = context.columns() / count;
    // The rows are inputs of the output projection. Row 1 + h · tokens + t is the context of head h at token
    // t, with zeros for the other heads. Row 0 is zero; its output, the bias, is subtracted below.
    Tensor rows = Tensor::zeros({1 + count * tokens, context.columns()});
    for (std::int64_t h = 0; h < count; ++h)
      for (std::int64_t t = 0; t < tokens; ++t)
        std::copy_n(context.row(t) + h * size, size, rows.row(1 + h * tokens + t) + h * size);
    PointCapture capture;
    capture.want(point + ".output");
    InjectedPass inject(&capture);
    inject.put(point + ".context", rows);
    run_rows(model, pool, rows.rows(), inject);
    const Tensor& out = capture.at(point + ".output");
    for (std::int64_t h = 0; h < count; ++h) {
      Tensor& of_head = outputs[{place.first, place.second, h}] = Tensor::empty({tokens, out.columns()});
      for (std::int64_t t = 0; t < tokens; ++t)
        for (std::int64_t i = 0; i < out.columns(); ++i)
          of_head.row(t)[i] = out.row(1 + h * tokens + t)[i] - out.row(0)[i];
    }
  }
  return outputs;
}

namespace {

[[noreturn]] void no_lens() {
  throw usage_error("the model's logits are not a function of the last layer's residual alone")
      .expected("a model whose layers add to one residual, such as a Transformer decoder");
}

// Throw usage if `edits` change the probe point `point`. `study` is the name of the study for the message.
void require_unchanged(const EditedPass* edits, const std::string& point, const char* study) {
  if (edits != nullptr && edits->changes(point))
    throw usage_error(fmt::format("{} cannot be combined with an intervention on this probe point", study))
        .found(point)
        .expected(
            "an intervention on a head, the output of an attention or feed-forward layer, or the embedding");
}

// Throw usage if the logits read from the last residual differ from the model's logits.
void require_close(const float* logits, const float* read, std::int64_t count) {
  float largest = 1.0f;
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(logits[i]));
  for (std::int64_t i = 0; i < count; ++i)
    if (std::abs(logits[i] - read[i]) > 1e-3f * largest) no_lens();
}

}  // namespace

std::vector<LensCell> logit_lens(Network& model, ThreadPool& pool, const StudyExample& example,
                                 const EditedPass* edits) {
  require_next_token(model);
  require_unchanged(edits, "decoder.output", "a logit lens");
  const ModelPoints points = ModelPoints::of(model, pool);
  const std::int64_t layers = layers_of(points), tokens = std::ssize(example.input.target);
  PointCapture pass;
  pass.want("decoder.embedding");
  for (std::int64_t layer = 0; layer < layers; ++layer) pass.want(fmt::format("decoder.{}.residual", layer));
  const Tensor whole = run_pass(model, pool, example.input, edits, pass);
  const std::int64_t width = pass.at("decoder.embedding").columns();
  for (std::int64_t layer = 0; layer < layers; ++layer)
    if (pass.at(fmt::format("decoder.{}.residual", layer)).columns() != width) no_lens();
  Tensor rows = Tensor::empty({tokens * (layers + 1), width});
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t layer = -1; layer < layers; ++layer)
      std::copy_n(
          (layer < 0 ? pass.at("decoder.embedding") : pass.at(fmt::format("decoder.{}.residual", layer)))
              .row(t),
          width, rows.row(t * (layers + 1) + layer + 1));
  const Tensor logits = logits_of(model, pool, layers, rows);
  for (std::int64_t t = 0; t < tokens; ++t)
    require_close(whole.row(t), logits.row(t * (layers + 1) + layers), logits.columns());
  std::vector<LensCell> cells;
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t layer = -1; layer < layers; ++layer) {
      const float* row = logits.row(t * (layers + 1) + layer + 1);
      const std::int64_t count = logits.columns();
      const Softmax softmax(row, count);
      LensCell cell{layer, t, 0, 0, -1, 0, 0};
      cell.best = static_cast<std::int32_t>(std::max_element(row, row + count) - row);
      cell.probability = softmax.of(row[cell.best]);
      cell.wanted = static_cast<std::size_t>(t) < example.labels.size()
                        ? example.labels[static_cast<std::size_t>(t)]
                        : kIgnoredLabel;
      if (cell.wanted >= 0) {
        cell.wanted_probability = softmax.of(row[cell.wanted]);
        cell.rank = 1 + std::count_if(row, row + count, [&](float x) { return x > row[cell.wanted]; });
      }
      cells.push_back(cell);
    }
  return cells;
}

DirectAttribution direct_attribution(Network& model, ThreadPool& pool, const StudyExample& example,
                                     const AnswerDifference& measured, const EditedPass* edits) {
  const auto [position, answer, instead] = measured;
  require_next_token(model);
  require_unchanged(edits, "decoder.output", "a direct attribution");
  const std::int64_t tokens = std::ssize(example.input.target);
  if (position < 0 || position >= tokens)
    throw usage_error("the position is out of range")
        .found(std::to_string(position))
        .expected(fmt::format("a position from 0 to {}", tokens - 1));
  for (const std::int32_t id : {answer, std::max(instead, 0)})
    if (id < 0 || id >= model.vocabulary())
      throw usage_error("the token id is out of range")
          .found(std::to_string(id))
          .expected(fmt::format("an id from 0 to {}", model.vocabulary() - 1));
  const ModelPoints points = ModelPoints::of(model, pool);
  const std::int64_t layers = branched_layers(points);
  PointCapture pass;
  for (const auto& [point, features] : points.features) pass.want(point);
  const Tensor model_logits = run_pass(model, pool, example.input, edits, pass);
  const std::map<Head, Tensor> heads = head_outputs(model, pool, points, pass);
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

  // The model's output projection is a linear function of the normalised residual; its value at 0 is its
  // bias.
  Tensor inputs = Tensor::zeros({images.rows() + 1, width});
  std::copy_n(images.f32(), images.elements(), inputs.row(1));
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({});
  const Tensor logits = model.logits(tape, tape.constant(inputs))->value;
  const auto difference = [&](const float* row) {
    return static_cast<double>(row[answer]) - (instead < 0 ? 0.0 : static_cast<double>(row[instead]));
  };
  DirectAttribution out;
  out.difference = out.rest = difference(model_logits.row(position));
  for (std::size_t r = 0; r < components.names.size(); ++r) {
    DirectShare share = components.names[r];
    share.share = difference(logits.row(static_cast<std::int64_t>(r) + 1)) - difference(logits.row(0));
    out.rest -= share.share;
    out.shares.push_back(std::move(share));
  }
  return out;
}

}  // namespace regard::inspect
