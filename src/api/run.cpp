#include "regard/run.h"

#include <mutex>
#include <utility>

#include "api/attention_state.h"
#include "api/check.h"
#include "api/file_reader.h"
#include "api/model_state.h"
#include "api/pool.h"
#include "formats/safetensors.h"
#include "inspect/attend_tensors.h"
#include "inspect/generate_tensors.h"
#include "inspect/resolve.h"
#include "inspect/run_names.h"
#include "inspect/run_tensors.h"
#include "models/quantize.h"
#include "models/weights.h"

namespace regard {

using namespace models;  // namespace models exposes the names of nn, ops, tensor and base (base/namespaces.h)

NamedTensors read_tensors(const std::filesystem::path& file) {
  NamedTensors tensors;
  const auto opened = formats::SafetensorsFile::open(file);
  for (const formats::TensorEntry& entry : opened->entries())
    tensors[entry.name] = opened->tensor(entry.name).clone();
  return tensors;
}

void write_tensors(const std::filesystem::path& file, const NamedTensors& tensors,
                   const std::map<std::string, std::string>& metadata) {
  std::vector<formats::NamedTensor> all;
  all.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    api::require_tensor("write_tensors", name.c_str(), tensor);
    all.push_back({name, tensor});
  }
  formats::write_safetensors(file, all, metadata);
}

struct REGARD_HIDDEN Runner::State {
  explicit State(const std::filesystem::path& path) : name(path.string()) {
    loaded.folder = formats::ModelFolder::open(path);
    const formats::ModelFolder& folder = loaded.folder;
    loaded.warning = folder.warning;
    loaded.model = load_model(folder, is_quantized(folder.config) ? WeightMode::int8 : WeightMode::widened);
    if (loaded.model->kind() != ModelKind::encoder) loaded.options = inspect::tensor_search_options(folder);
    loaded.folder.make_absolute();
  }
  std::string name;  // path given to the constructor
  std::shared_ptr<ThreadPool> pool = api::pool();
  std::mutex calls;
  infer::LoadedModel loaded;  // the loaded model; its tokenizers are loaded by attend()
  std::once_flag tokenizers;

  std::unique_ptr<inspect::EditedPass> resolve(const std::vector<std::string>& interventions) {
    return inspect::resolve(*loaded.model, *pool, nullptr, inspect::parse_interventions(interventions), {},
                            api::file_reader(loaded, *pool));
  }
};

Runner::Runner(const std::filesystem::path& folder) : state_(std::make_shared<State>(folder)) {}

Runner::State& Runner::state() const {
  return api::state_of(state_, "Runner");
}

NamedTensors Runner::run(const NamedTensors& inputs, const RunOptions& options) const {
  State& state = this->state();
  inspect::TensorRunOptions chosen;
  chosen.capture = {options.capture.begin(), options.capture.end()};
  chosen.compute_padding = options.compute_padding;
  inspect::check_output_names(chosen.capture);
  const inspect::TensorMap usable = inspect::usable_inputs(inputs);
  const std::lock_guard lock(state.calls);
  const auto edits = state.resolve(options.interventions);
  chosen.edits = edits.get();
  return inspect::run_tensors(*state.loaded.model, *state.pool, usable, chosen);
}

std::vector<Attention> Runner::attend(const NamedTensors& inputs, const CaptureOptions& options) const {
  State& state = this->state();
  for (const std::string& one : options.activations) api::check_text(one);
  const inspect::TensorMap usable = inspect::usable_inputs(inputs);
  const std::lock_guard lock(state.calls);
  std::call_once(state.tokenizers, [&] { state.loaded.add_tokenizers(); });
  const auto edits = state.resolve(options.interventions);
  inspect::AttendRequest request;
  request.model_name = state.name;
  request.edits = edits.get(), request.interventions = options.interventions;
  request.selection.layers.insert(options.layers.begin(), options.layers.end());
  request.selection.heads.insert(options.heads.begin(), options.heads.end());
  request.selection.values = options.values;
  request.selection.activations.insert(options.activations.begin(), options.activations.end());
  std::vector<Attention> all;
  inspect::attend_tensors(state.loaded, *state.pool, usable, request, [&](inspect::View view) {
    auto attention = std::make_shared<Attention::State>();
    attention->view = std::move(view);
    all.push_back(Attention(std::move(attention)));
  });
  return all;
}

NamedTensors Runner::generate(const NamedTensors& inputs, const DecodingOptions& options) const {
  State& state = this->state();
  if (!options.stop.empty() || !options.bad_words.empty())
    throw usage_error("generate: stop and bad_words need a tokenizer")
        .remedy("Use regard::Model, which has one");
  infer::SearchOptions search = api::search_options(state.loaded, options);
  const inspect::TensorMap usable = inspect::usable_inputs(inputs);
  const std::lock_guard lock(state.calls);
  const auto edits = state.resolve(options.interventions);
  search.probe = edits.get();
  return inspect::generate_tensors(*state.loaded.model, *state.pool, usable, search);
}

const std::string& Runner::warning() const {
  return state().loaded.warning;
}

}  // namespace regard
