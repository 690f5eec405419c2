// Constructs a Tokenizer's parts from a tokenizer.json.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "text/tokenizer_parts.h"

namespace regard::text {
namespace {

const Json& part(const Json& json, const char* key) {
  static const Json none;
  const auto found = json.find(key);
  return found == json.end() ? none : *found;
}

Side read_side(const Json& json, const std::string& file) {
  const std::string side = optional_value<std::string>(json, "direction", file).value_or("Right");
  if (side == "Left" || side == "left") return Side::left;
  if (side == "Right" || side == "right") return Side::right;
  throw file_error(file, "unknown direction of truncation or padding").found(side).expected("Left or Right");
}

Truncation read_truncation(const Json& json, const std::string& file) {
  Truncation how;
  how.max_length = require<std::uint32_t>(json, "max_length", file);
  how.stride = optional_value<std::uint32_t>(json, "stride", file).value_or(0);
  how.direction = read_side(json, file);
  const std::string strategy = optional_value<std::string>(json, "strategy", file).value_or("LongestFirst");
  using Strategy = Truncation::Strategy;
  if (strategy == "LongestFirst") {
    how.strategy = Strategy::longest_first;
  } else if (strategy == "OnlyFirst") {
    how.strategy = Strategy::only_first;
  } else if (strategy == "OnlySecond") {
    how.strategy = Strategy::only_second;
  } else {
    throw file_error(file, "unknown truncation strategy")
        .found(strategy)
        .expected("LongestFirst, OnlyFirst or OnlySecond");
  }
  return how;
}

// Return nullopt for the fixed length 0, which pads no text.
std::optional<Padding> read_padding(const Json& json, const std::string& file) {
  Padding how;
  const Json& strategy = part(json, "strategy");
  if (strategy.is_object()) {
    how.fixed_length = require<std::uint32_t>(strategy, "Fixed", file);
  } else if (strategy != "BatchLongest") {
    throw file_error(file, "unknown padding strategy")
        .found(describe(strategy))
        .expected("BatchLongest or Fixed");
  }
  how.multiple_of = optional_value<std::uint32_t>(json, "pad_to_multiple_of", file).value_or(0);
  how.direction = read_side(json, file);
  how.id = require<std::int32_t>(json, "pad_id", file);
  how.type_id = optional_value<std::int32_t>(json, "pad_type_id", file).value_or(0);
  how.token = require<std::string>(json, "pad_token", file);
  if (strategy.is_object() && how.fixed_length == 0) return std::nullopt;
  return how;
}

}  // namespace

std::unique_ptr<Tokenizer::Parts> Tokenizer::Parts::read(const Json& json, const std::string& file) {
  if (!json.is_object() || !json.contains("model"))
    throw file_error(file, "not a tokenizer.json: it has no \"model\"")
        .found(json.is_object() ? "an object without this key" : describe(json))
        .expected("an object with the key \"model\"");
  std::unique_ptr<Model> model = read_model(JsonModelSource(json.at("model"), file));
  Json pipeline;
  for (const auto& [key, value] : json.items())
    if (key != "model") pipeline[key] = value;
  return assemble(std::move(pipeline), std::move(model), file);
}

namespace {

// Correct the ids of added tokens as the reference implementation does: a token that is in the vocabulary has
// the vocabulary's id, and a token whose id belongs to another token gets the next free id. Other ids are
// kept, even if there are gaps between them, because vocabularies of tiktoken have gaps.
void resolve_ids(std::vector<AddedToken>& added, const Model& model) {
  std::map<std::int32_t, std::string> used;
  for (AddedToken& token : added) {
    if (const auto known = model.id_of(token.content)) {
      token.id = *known;
    } else if (const auto other = used.find(token.id);
               other == used.end() ? model.token_of(token.id).has_value() : other->second != token.content) {
      const auto size = static_cast<std::int32_t>(model.size());
      token.id = used.empty() ? size : std::max(size, used.rbegin()->first + 1);
    }
    used.emplace(token.id, token.content);
  }
}

}  // namespace

std::unique_ptr<Tokenizer::Parts> Tokenizer::Parts::assemble(Json json, std::unique_ptr<Model> model,
                                                             const std::string& file) {
  auto parts = std::make_unique<Parts>();
  parts->model = std::move(model);
  PreTokenizerParts cutting =
      read_pre_tokenizer(part(json, "pre_tokenizer"), file, parts->model->can_take_bytes());
  if (cutting.letters_left_out) parts->model->take_bytes();
  parts->pre_tokenizer = std::move(cutting.pre_tokenizer);
  if (const Json& normalizer = part(json, "normalizer"); !normalizer.is_null())
    parts->normalizer = read_normalizer(normalizer, file);
  if (const Json& processor = part(json, "post_processor"); !processor.is_null())
    parts->post_processor = read_post_processor(processor, file);
  if (const Json& decoder = part(json, "decoder"); !decoder.is_null())
    parts->decoder = read_decoder(decoder, file);
  if (const Json& truncation = part(json, "truncation"); !truncation.is_null())
    parts->truncation = read_truncation(truncation, file);
  if (const Json& padding = part(json, "padding"); !padding.is_null())
    parts->padding = read_padding(padding, file);
  std::vector<AddedToken> added = read_added_tokens(part(json, "added_tokens"), file);
  resolve_ids(added, *parts->model);
  parts->added = AddedTokens(std::move(added), parts->normalizer.get());
  parts->ids_encoder = std::make_unique<IdsEncoder>(IdsEncoder::Pipeline{
      &parts->added, parts->normalizer.get(), parts->pre_tokenizer.get(), parts->model.get()});
  parts->description = std::move(json);
  if (parts->post_processor) {
    // To find the ids that are added before and after a text, post-process a marker id that cannot occur in a
    // text.
    constexpr std::int32_t kMark = -1;
    std::vector<Encoding> row(1);
    row[0].push(kMark, "", 0, false);
    parts->post_processor->apply(row, true);
    const std::vector<std::int32_t> ids = join(row).ids;
    if (std::count(ids.begin(), ids.end(), kMark) != 1)
      throw file_error(file, "the post-processor does not keep a text exactly once")
          .remedy("List \"A\" once in the template \"single\"");
    const auto mark = std::find(ids.begin(), ids.end(), kMark);
    parts->before.assign(ids.begin(), mark);
    parts->after.assign(mark + 1, ids.end());
  }
  return parts;
}

}  // namespace regard::text
