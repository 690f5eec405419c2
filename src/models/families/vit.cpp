// ViT (Dosovitskiy et al. 2021) and DeiT (Touvron et al. 2021), as in transformers' modeling_vit.py and
// modeling_deit.py: a pre-norm encoder over the patches of an image.
#include <tuple>
#include <utility>

#include "models/families/encoder_heads.h"
#include "models/families/families.h"

namespace regard::models::families {
namespace {

nn::BlockConfig vit_block(const ConfigReader& config, std::int64_t hidden) {
  nn::BlockConfig block = bert_block(config, hidden, 0.0f);
  nn::AttentionConfig& self = block.self;
  self.query_bias = self.key_bias = self.value_bias = config.flag("qkv_bias", true);
  self.query = "attention.attention.query", self.key = "attention.attention.key";
  self.value = "attention.attention.value";
  block.self_norm = {.before = "layernorm_before", .branch = "", .after = ""};
  block.feed_forward_norm = {.before = "layernorm_after", .branch = "", .after = ""};
  return block;
}

// Return {height, width} from `key`, which contains one number (for a square) or [height, width].
std::pair<std::int64_t, std::int64_t> sides(const ConfigReader& config, const char* key) {
  if (!config.has(key) || !config.json().find(key)->is_array()) {
    const std::int64_t side = config.size(key);
    return {side, side};
  }
  const auto both = require<std::vector<std::int64_t>>(config.json(), key, config.file());
  const auto fits = [](std::int64_t side) { return side >= 1 && side <= kLargestSize; };
  if (both.size() != 2 || !fits(both[0]) || !fits(both[1]))
    throw config.wrong(key, "one side length, or [height, width]");
  return {both[0], both[1]};
}

}  // namespace

PatchConfig patch_grid(const ConfigReader& config) {
  PatchConfig patches;
  patches.channels = config.size("num_channels", 3);
  std::tie(patches.height, patches.width) = sides(config, "image_size");
  std::tie(patches.patch_height, patches.patch_width) = sides(config, "patch_size");
  if (patches.rows() < 1 || patches.columns() < 1) throw config.wrong("patch_size", "at most image_size");
  if (patches.rows() > kLargestSize / patches.columns())
    throw config.wrong("image_size", "a smaller size, because there are too many patches");
  if (patches.patch_height * patches.patch_width > kLargestSize / patches.channels)
    throw config.wrong("patch_size", "smaller patches");
  return patches;
}

std::vector<std::pair<std::string, std::string>> vit_modules() {
  return {{"encoder.layer.", "layers."},
          {".attention.attention.query.", ".attention.q_proj."},
          {".attention.attention.key.", ".attention.k_proj."},
          {".attention.attention.value.", ".attention.v_proj."},
          {".attention.output.dense.", ".attention.o_proj."},
          {".intermediate.dense.", ".mlp.fc1."},
          {".output.dense.", ".mlp.fc2."}};
}

StackConfig vit_encoder(const ConfigReader& config, const std::string& prefix) {
  return vit_encoder(config, prefix, patch_grid(config));
}

StackConfig vit_encoder(const ConfigReader& config, const std::string& prefix, PatchConfig patches) {
  patches.projection = prefix + "embeddings.patch_embeddings.projection";
  patches.positions = prefix + "embeddings.position_embeddings";
  patches.specials = {prefix + "embeddings.cls_token"};
  StackConfig stack;
  stack.point = "encoder";
  stack.prefix = prefix + "encoder.layer.";
  stack.layers = config.layers("num_hidden_layers");
  stack.block = vit_block(config, config.size("hidden_size"));
  stack.norm = prefix + "layernorm", stack.norm_config = stack.block.norm;
  stack.last_state_is_normed = false;
  stack.input.patches = std::move(patches);
  stack.input.dropout = stack.block.dropout;
  return stack;
}

namespace {

Architecture vit_like(const ConfigReader& config, const std::string& family, bool classifies) {
  const std::string prefix = classifies ? family + "." : "";
  Architecture all;
  all.hidden = config.size("hidden_size");
  all.encoder = vit_encoder(config, prefix);
  check_common(config, kLargestSize);
  all.names.prefixes = {family + "."};
  all.names.modules = vit_modules();
  all.names.ignored = {"embeddings.mask_token"};
  const kernels::Activation activation = config.activation("pooler_act", "tanh");
  const DenseConfig pooler{
      prefix + "pooler.dense", config.size("pooler_output_size", all.hidden), activation, true, "", {}};
  if (classifies) {
    all.head = sequence_classifier(config, {}, "classifier");
    all.names.ignored.push_back("pooler.dense.");
    all.pooler = pooler;
  } else {
    all.head = pooled(pooler);
    all.names.ignored.push_back("classifier.");
  }
  return all;
}

}  // namespace

Architecture vit(const ConfigReader& config) {
  const std::string kind = architecture_of(config, {"ViTModel", "ViTForImageClassification"});
  return vit_like(config, "vit", kind == "ViTForImageClassification");
}

Architecture deit(const ConfigReader& config) {
  const std::string kind = architecture_of(
      config, {"DeiTModel", "DeiTForImageClassification", "DeiTForImageClassificationWithTeacher"});
  const bool classifies = kind != "DeiTModel";
  Architecture all = vit_like(config, "deit", classifies);
  all.encoder->input.patches->specials.push_back((classifies ? "deit." : std::string()) +
                                                 "embeddings.distillation_token");
  if (kind == "DeiTForImageClassificationWithTeacher") {
    all.head.projection = "cls_classifier", all.head.bias = "cls_classifier.bias";
    all.head.second = "distillation_classifier";
  }
  return all;
}

}  // namespace regard::models::families
