// The state of a regard::Model, for the public functions that use it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "api/check.h"
#include "infer/loaded_model.h"
#include "inspect/capture.h"
#include "regard/error.h"
#include "regard/model.h"

namespace regard {

struct REGARD_HIDDEN Model::State {
  std::string name;                // path given to load(), for messages
  infer::FolderSettings settings;  // settings with which the folder was opened
  infer::LoadedModel loaded;       // the paths of its folder are absolute

  void need(models::ModelKind kind, const char* what) const {
    if (loaded.model->kind() != kind)
      throw usage_error(std::string("this model cannot ") + what)
          .at({name, -1, -1})
          .expected(kind == models::ModelKind::decoder ? "a decoder-only model" : "an encoder-decoder");
  }
};

namespace api {

struct ModelAccess {
  using State = Model::State;
  static const std::shared_ptr<Model::State>& state(const Model& model) {
    state_of(model.state_, "Model");
    return model.state_;
  }
};

inline WeightMode weight_mode(Precision precision) {
  return precision == Precision::bf16 ? WeightMode::bf16 : WeightMode::stored;
}

inline inspect::Head inner(const HeadName& head) {
  return {head.kind, head.layer, head.head};
}

// Return the search options in the model's folder, overridden by the fields set in `options`. Throws usage if
// an option is invalid.
infer::SearchOptions search_options(const infer::LoadedModel& loaded, const DecodingOptions& options);

// Return the token ids of a conversation formatted with a chat template (see Model::chat()).
ModelInput read_conversation(const ModelAccess::State& model, std::span<const Message> conversation,
                             bool truncate, std::string_view chat_template);

void check_text(std::string_view text);  // throws invalid_input if the text is not UTF-8

}  // namespace api
}  // namespace regard
