#include "inspect/other_input.h"

#include "inspect/media_reader.h"
#include "regard/error.h"

namespace regard::inspect {

OtherInputReader::OtherInputReader(Network& model, ThreadPool& pool, const infer::LoadedModel* loaded,
                                   const BetweenPasses& between, const FileReader& read_file)
    : model_(model),
      pool_(pool),
      loaded_(loaded),
      between_(between),
      read_file_(read_file),
      dual_(dual_encoder_of(model)) {}

void OtherInputReader::require_kind(bool files, const std::string& given) const {
  if (dual_ != nullptr) return;  // a model with two encoders reads both texts and images
  const InputKind kind = model_.input_spec().kind;
  if (files == (kind != InputKind::tokens)) return;
  throw usage_error(files                       ? "the model reads text, not files"
                    : kind == InputKind::pixels ? "the model reads images, not text"
                                                : "the model reads sounds, not text")
      .found(given)
      .expected(files ? "text=… or ids=…" : "file=FILE");
}

PassInput OtherInputReader::read(const OtherInput& other, bool decodes) const {
  if (!other.file.empty()) return read_image_or_sound(other, decodes);
  return other.ids.empty() ? read_text(other) : read_ids(other);
}

PassInput OtherInputReader::read_text(const OtherInput& other) const {
  require_kind(false, "text=" + other.text);
  if (loaded_ == nullptr || !loaded_->source)
    throw usage_error("text= needs a tokenizer, and the model's folder has none")
        .found("text=" + other.text)
        .expected("ids=0,1,…");
  PassInput input =
      pass_input(*loaded_, pool_, other.text, other.target, {.between = between_, .edits = nullptr});
  if (dual_ != nullptr) dual_->pad(input.source.ids);
  return input;
}

PassInput OtherInputReader::read_ids(const OtherInput& other) const {
  require_kind(false, "ids=");
  PassInput input;
  (model_.kind() == ModelKind::decoder ? input.target : input.source.ids) = other.ids;
  if (model_.kind() != ModelKind::encoder_decoder && !other.target_ids.empty())
    throw usage_error("a target needs an encoder-decoder model").remedy("Remove target_ids=");
  if (model_.kind() != ModelKind::encoder_decoder) return input;
  if (other.target_ids.empty())
    throw usage_error("ids= of an encoder-decoder needs target_ids=, the decoder's input")
        .remedy("Add target_ids=0,1,…");
  input.target = other.target_ids;
  return input;
}

PassInput OtherInputReader::read_image_or_sound(const OtherInput& other, bool decodes) const {
  require_kind(true, "file=" + other.file);
  if (!read_file_)
    throw usage_error("interventions of this call cannot read files").found("file=" + other.file);
  const bool targets = model_.kind() == ModelKind::encoder_decoder;
  if (!targets && (!other.target.empty() || !other.target_ids.empty()))
    throw usage_error("a target needs an encoder-decoder model")
        .found("file=" + other.file)
        .remedy("Remove the target");
  const FileInput file = read_file_(other.file);
  PassInput input;
  input.source = file.input;
  if (!targets) return input;
  input.target = other.target_ids;
  if (!input.target.empty()) return input;
  if (!decodes) {
    input.target = {0};
    return input;
  }
  if (loaded_ == nullptr || !loaded_->target)
    throw usage_error("file= of an encoder-decoder needs target_ids=, the decoder's input")
        .found("file=" + other.file)
        .remedy("Add target_ids=0,1,…");
  return media_input(*loaded_, pool_, file, other.file, other.target,
                     {.between = between_, .edits = nullptr});
}

}  // namespace regard::inspect
