// For every family in the registry, a pass with a probe that requests everything gives the same results,
// gradients and generated tokens as a pass without a probe. A new family fails this test until tests/data
// contains a model of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "base/json.h"
#include "base/random.h"
#include "infer/search.h"
#include "inspect/capture.h"
#include "models/dual_encoder.h"
#include "models/families/families.h"
#include "models/sequence_config.h"
#include "models/weights.h"
#include "ops/forwarding_probe.h"
#include "ops/tape.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/tiny_models.h"
#include "tensor/arena.h"

namespace regard::testing {
namespace {

using Results = std::map<std::string, Tensor>;

// The number of calls of a probe, by kind of data.
struct Calls {
  std::int64_t weights = 0, values = 0, parameters = 0;
};

// A probe that requests every point, and passes all calls to a Capture that stores everything. It may replace
// every value, but replaces none.
class EveryProbe : public ForwardingProbe {
 public:
  EveryProbe() : capture_(everything()) { set_next(&capture_); }

  bool wants(std::string_view point) override {
    capture_.wants(point);
    return true;
  }
  void see(std::string_view point, std::int64_t sequence, const Tensor& value) override {
    ++(point.ends_with(".weights") ? calls.weights : calls.values);
    capture_.see(point, sequence, value);
  }
  bool may_replace(std::string_view) override { return true; }
  void see_parameters(std::string_view point,
                      const std::shared_ptr<const AttentionParameters>& all) override {
    ++calls.parameters;
    capture_.see_parameters(point, all);
  }

  Calls calls;

 private:
  static inspect::Selection everything() {
    inspect::Selection all;
    all.hidden_states = all.values = all.parameters = all.shapes = true;
    all.activations = {"inner", "context", "input", "output"};
    return all;
  }

  inspect::Capture capture_;
};

std::vector<std::int32_t> draw(RandomStream& stream, std::int64_t length, std::int64_t bound) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < length; ++i)
    ids.push_back(static_cast<std::int32_t>(stream.next_below(static_cast<std::uint64_t>(bound))));
  return ids;
}

ModelInput drawn(RandomStream& stream, const InputSpec& spec, std::int64_t length, std::int64_t vocabulary) {
  ModelInput input = spec.blank();
  if (spec.kind == InputKind::features && spec.shape[0] == 0)  // inputs may have any length
    input.values = Tensor::zeros({(1 + length) * spec.fewest_frames(), spec.shape[1]});
  if (spec.kind == InputKind::tokens) input.ids = draw(stream, length, vocabulary);
  for (std::int64_t i = 0; spec.kind != InputKind::tokens && i < input.values.elements(); ++i)
    input.values.f32()[i] = static_cast<float>(stream.next_below(1000)) / 500.0f - 1.0f;
  return input;
}

// A model and a batch of three inputs of different lengths.
class LookedAt {
 public:
  explicit LookedAt(std::unique_ptr<Network> model) : model_(std::move(model)), pool_(2) {
    RandomStream stream({7, 0, place_of("looking")});
    DualEncoder* const dual = dual_encoder_of(*model_);
    for (const std::int64_t length : {5, 1, 7}) {
      inputs_.push_back(drawn(stream, model_->input_spec(), length, model_->source_vocabulary()));
      targets_.push_back(draw(stream, length, std::max<std::int64_t>(1, model_->vocabulary())));
      if (dual == nullptr) continue;
      dual->pad(inputs_.back().ids);
      images_.push_back(drawn(stream, dual->vision().input_spec(), length, 0));
    }
  }

  // Return the states and the output of one pass. If `training` is set, also return the gradients of all
  // parameters.
  Results pass(Probe* probe, bool training) {
    if (training) model_->set_trainable(true), model_->clear_gradients();
    Arena arena;
    Tape tape(pool_, arena);
    tape.begin({.record = training, .training = training, .seed = 3, .step = 2});
    tape.probe = probe;
    Results out;
    Batches batches = batches_of();
    const Var last =
        dual_encoder_of(*model_) != nullptr ? compared(tape, batches, out) : computed(tape, batches, out);
    if (!training) return out;
    tape.backward(last);
    for (const Parameter* parameter : model_->parameters())
      if (parameter->gradient().defined()) out["grad." + parameter->name] = parameter->gradient().clone();
    model_->set_trainable(false);
    return out;
  }

  // Return the generated tokens and their log-probabilities, decoded with a key/value cache. Return an empty
  // result for models that do not generate.
  Results generated(Probe* probe) {
    if (model_->kind() == ModelKind::encoder || model_->output() != Output::next_token) return {};
    infer::SearchOptions options;
    options.max_new = 6, options.start_token = 1, options.probe = probe;
    const bool decoder = model_->kind() == ModelKind::decoder;
    std::vector<ModelInput> inputs(inputs_);
    if (decoder) inputs.assign(targets_.begin(), targets_.end());
    Results out;
    for (const auto& found : infer::decode(*model_, pool_, inputs, options)) {
      Tensor row = Tensor::empty({2, std::ssize(found.at(0).tokens)});
      for (std::int64_t i = 0; i < row.columns(); ++i) {
        row.row(0)[i] = static_cast<float>(found[0].tokens[static_cast<std::size_t>(i)]);
        row.row(1)[i] = found[0].token_log_probabilities[static_cast<std::size_t>(i)];
      }
      out["generated " + std::to_string(out.size())] = row;
    }
    return out;
  }

  void prepare() { model_->prepare_for_inference(pool_); }
  Network& model() { return *model_; }

 private:
  // The inputs of one pass. The tape refers to them, so they must outlive its backward pass.
  struct Batches {
    InputBuffer inputs, images;
    std::vector<std::int32_t> ids;
    RaggedBuffer targets;
    Memory memory;
  };

  static void fill(InputBuffer& buffer, const std::vector<ModelInput>& inputs, const InputSpec& spec) {
    for (std::size_t i = 0; i < inputs.size(); ++i) buffer.add(inputs[i], spec.length_of(inputs[i]), i);
  }

  Batches batches_of() const {
    Batches all;
    fill(all.inputs, inputs_, model_->input_spec());
    if (DualEncoder* const dual = dual_encoder_of(*model_))
      fill(all.images, images_, dual->vision().input_spec());
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      all.ids.insert(all.ids.end(), targets_[i].begin(), targets_[i].end());
      all.targets.add(std::ssize(targets_[i]), i);
    }
    return all;
  }

  Var compared(Tape& tape, Batches& batches, Results& out) {
    DualEncoder& dual = *dual_encoder_of(*model_);
    const InputBatch texts = batches.inputs.batch(), images = batches.images.batch();
    const Var read = dual.encode(tape, texts), seen = dual.encode(tape, images);
    const Var of_texts = dual.text_vectors(tape, read, texts);
    const Var of_images = dual.image_vectors(tape, seen, images);
    const Var loss = dual.contrastive_loss(tape, of_texts, of_images);
    out = {{"text states", read->value.clone()},
           {"image states", seen->value.clone()},
           {"text vectors", of_texts->value.clone()},
           {"image vectors", of_images->value.clone()},
           {"loss", loss->value.clone()}};
    return loss;
  }

  Var computed(Tape& tape, Batches& batches, Results& out) {
    Memory& memory = batches.memory;
    Ragged shape = batches.targets.view();
    Var last = nullptr;
    if (model_->kind() != ModelKind::decoder) {
      memory.shape = batches.inputs.batch().shape;
      last = memory.hidden = model_->encode(tape, batches.inputs.batch());
      out["encoder states"] = last->value.clone();
      if (model_->kind() == ModelKind::encoder) shape = memory.shape;
    }
    if (model_->kind() != ModelKind::encoder) {
      last =
          model_->decode(tape, {batches.ids, shape}, memory.hidden != nullptr ? &memory : nullptr, nullptr);
      out["decoder states"] = last->value.clone();
    }
    if (model_->output() == Output::none) return last;
    last = model_->kind() == ModelKind::encoder ? model_->head(tape, last, batches.inputs.batch())
                                                : model_->logits(tape, last);
    out["output"] = last->value.clone();
    return last;
  }

  std::unique_ptr<Network> model_;
  ThreadPool pool_;
  std::vector<ModelInput> inputs_, images_;
  std::vector<std::vector<std::int32_t>> targets_;
};

void expect_same(const Results& plain, const Results& looked, const std::string& what) {
  ASSERT_EQ(plain.size(), looked.size()) << what;
  for (const auto& [name, value] : plain) {
    const Tensor& other = looked.at(name);
    ASSERT_TRUE(value.shape() == other.shape()) << what << " " << name;
    EXPECT_EQ(std::memcmp(value.data(), other.data(), value.bytes()), 0) << what << " " << name;
  }
}

void expect_no_bit_changed(LookedAt& looked, bool attends) {
  const auto compare = [&](const std::string& what, const std::function<Results(Probe*)>& run) {
    EveryProbe probe;
    expect_same(run(nullptr), run(&probe), what);
    return probe.calls;
  };
  const Calls plain = compare("pass", [&](Probe* p) { return looked.pass(p, false); });
  EXPECT_GT(plain.values, 1);
  if (attends) {
    EXPECT_GT(plain.weights, 0);
    EXPECT_GT(plain.parameters, 0);
  }
  compare("training", [&](Probe* p) { return looked.pass(p, true); });
  looked.prepare();
  compare("prepared pass", [&](Probe* p) { return looked.pass(p, false); });
  compare("generation", [&](Probe* p) { return looked.generated(p); });
}

// Return the folders of tests/data with weights of this family.
std::vector<std::filesystem::path> folders_of(const std::string& family) {
  std::vector<std::filesystem::path> folders;
  for (const char* group : {"hf-tiny", "hf-more", "hf-open"})
    for (const auto& item : std::filesystem::directory_iterator(testing::golden(group))) {
      if (!std::filesystem::exists(item.path() / "config.json")) continue;
      if (read_json(item.path() / "config.json").value("model_type", "") == family)
        folders.push_back(item.path());
    }
  std::ranges::sort(folders);
  return folders;
}

class LookingAtFamily : public ::testing::TestWithParam<std::string> {};

TEST_P(LookingAtFamily, ChangesNoBit) {
  const std::vector<std::filesystem::path> folders = folders_of(GetParam());
  ASSERT_FALSE(folders.empty()) << "add a small model of this family to tests/data";
  for (const std::filesystem::path& folder : folders) {
    SCOPED_TRACE(folder.filename());
    LookedAt looked(load_model(formats::ModelFolder::open(folder)));
    expect_no_bit_changed(looked, true);
  }
}

class LookingAtSequenceModel : public ::testing::TestWithParam<std::string> {};

TEST_P(LookingAtSequenceModel, ChangesNoBit) {
  std::size_t models = 0;
  for (const char* head :
       {"ForSequenceClassification", "ForTokenClassification", "ForCausalLM", "ForConditionalGeneration"}) {
    const Json config{{"model_type", GetParam()},
                      {"architectures", {models::sequence_class(GetParam()) + head}},
                      {"vocabulary", 40},
                      {"hidden_size", 16},
                      {"num_labels", 3},
                      {"layers", 2},
                      {"dropout", 0.1}};
    std::unique_ptr<Network> model;
    try {
      model = make_model(config);
    } catch (const Error&) {
      continue;  // a head that the family does not have
    }
    ++models;
    SCOPED_TRACE(head);
    initialise(*model, 3);
    LookedAt looked(std::move(model));
    expect_no_bit_changed(looked, false);
  }
  EXPECT_GT(models, 0u);
}

TEST(LookingAtRegardTransformer, ChangesNoBit) {
  for (const std::string& name : testing::tiny_model_names()) {
    SCOPED_TRACE(name);
    LookedAt looked(testing::tiny_model(name));
    expect_no_bit_changed(looked, true);
  }
}

std::string test_name(const ::testing::TestParamInfo<std::string>& about) {
  std::string name = about.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Registry, LookingAtFamily, ::testing::ValuesIn(models::families::names()),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Registry, LookingAtSequenceModel, ::testing::ValuesIn(models::sequence_types()),
                         test_name);

}  // namespace
}  // namespace regard::testing
