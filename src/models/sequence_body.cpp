#include "models/sequence_body.h"

#include "nn/branch.h"
#include "ops/join_columns.h"
#include "ops/linear.h"
#include "ops/windows.h"

namespace regard::models {
namespace {

// The body of an mlp has no layers. The head applies the layers of an mlp, after the pooling.
class MeanBody : public SequenceBody {
 public:
  explicit MeanBody(const SequenceConfig& config) : out_(config.embedding) {}
  Var forward(Tape&, Var x, const Ragged&, const nn::RecurrentStates&) const override { return x; }
  std::int64_t out() const override { return out_; }
  void collect(std::vector<Parameter*>&) const override {}
  void prepare_for_inference(const nn::Preparation&) const override {}

 private:
  std::int64_t out_;
};

// Filters of several widths in parallel (Kim 2014), each relu(W window + b). A window is centred on its token
// and padded with zeros at the ends of the text.
class ConvolutionBody : public SequenceBody {
 public:
  ConvolutionBody(const SequenceConfig& config, const std::string& point)
      : widths_(config.filter_widths), hidden_(config.hidden), dropout_(config.dropout), point_(point) {
    std::int64_t in = config.embedding;
    for (std::int64_t layer = 0; layer < config.layers; ++layer) {
      for (const std::int64_t width : widths_) {
        auto filter = std::make_unique<Filter>();
        const std::string name = "convolutions." + std::to_string(layer) + "." + std::to_string(width);
        filter->weight.name = name + ".weight", filter->bias.name = name + ".bias";
        filter->weight.variable.value = declared({hidden_, in * width});
        filter->weight.stored_shape = {hidden_, in, width};
        filter->weight.initial = {Initialisation::Kind::xavier_uniform, 0.0};
        filter->bias.variable.value = declared({hidden_});
        filters_.push_back(std::move(filter));
      }
      in = out();
    }
  }

  Var forward(Tape& tape, Var x, const Ragged& shape, const nn::RecurrentStates&) const override {
    ops::LinearOptions options;
    options.activation = kernels::Activation::relu;
    const std::size_t layers = filters_.size() / widths_.size();
    for (std::size_t layer = 0; layer < layers; ++layer) {
      const std::string point = point_ + "." + std::to_string(layer);
      if (layer > 0) x = nn::dropped_copy(tape, x, shape, {dropout_, place_of(point + ".dropout")});
      std::vector<Var> features;
      for (std::size_t i = 0; i < widths_.size(); ++i) {
        Filter& filter = *filters_[layer * widths_.size() + i];
        Var windows = ops::windows(tape, x, shape, widths_[i], (widths_[i] - 1) / 2);
        features.push_back(
            ops::linear(tape, windows, &filter.weight.variable, &filter.bias.variable, options));
      }
      x = ops::join_columns(tape, features);
      x = nn::show(tape, point, "residual", x);
    }
    return x;
  }
  std::int64_t out() const override { return hidden_ * std::ssize(widths_); }
  void collect(std::vector<Parameter*>& parameters) const override {
    for (const auto& filter : filters_)
      parameters.push_back(&filter->weight), parameters.push_back(&filter->bias);
  }
  void prepare_for_inference(const nn::Preparation&) const override {}

 private:
  struct Filter {
    Parameter weight, bias;
  };
  std::vector<std::int64_t> widths_;
  std::int64_t hidden_;
  float dropout_;
  std::string point_;
  std::vector<std::unique_ptr<Filter>> filters_;  // filters ordered by layer, then by width
};

class RecurrentBody : public SequenceBody {
 public:
  RecurrentBody(const nn::RecurrentConfig& config, const std::string& point)
      : layers_("rnn.", point, config) {}
  Var forward(Tape& tape, Var x, const Ragged& shape, const nn::RecurrentStates& states) const override {
    return layers_.forward(tape, x, shape, states);
  }
  std::int64_t out() const override { return layers_.out(); }
  std::int64_t state_size() const override { return layers_.state_size(); }
  void collect(std::vector<Parameter*>& parameters) const override { layers_.collect(parameters); }
  void prepare_for_inference(const nn::Preparation& how) const override {
    layers_.prepare_for_inference(how);
  }

 private:
  nn::Recurrent layers_;
};

}  // namespace

std::unique_ptr<SequenceBody> make_sequence_body(const SequenceConfig& config, const std::string& point) {
  if (config.family == "mlp") return std::make_unique<MeanBody>(config);
  if (config.family == "cnn") return std::make_unique<ConvolutionBody>(config, point);
  nn::RecurrentConfig layers;
  layers.cell = config.cell, layers.input = config.embedding, layers.layers = config.layers;
  layers.hidden = config.bidirectional ? config.hidden / 2 : config.hidden;
  layers.bidirectional = config.bidirectional, layers.dropout = config.dropout;
  return std::make_unique<RecurrentBody>(layers, point);
}

}  // namespace regard::models
