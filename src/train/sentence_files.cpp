#include "train/sentence_files.h"

#include "base/json.h"

namespace regard::train {
namespace {

Json module(int index, const std::string& path, const std::string& type) {
  return {{"idx", index},
          {"name", std::to_string(index)},
          {"path", path},
          {"type", "sentence_transformers.models." + type}};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> SentenceFiles::files() const {
  Json modules{module(0, "", "Transformer"), module(1, "1_Pooling", "Pooling")};
  if (normalize) modules.push_back(module(2, "2_Normalize", "Normalize"));
  const Json pool{{"word_embedding_dimension", hidden_size},
                  {"pooling_mode_cls_token", pooling == "cls"},
                  {"pooling_mode_mean_tokens", pooling == "mean"},
                  {"pooling_mode_max_tokens", pooling == "max"},
                  {"pooling_mode_mean_sqrt_len_tokens", false},
                  {"pooling_mode_weightedmean_tokens", false},
                  {"pooling_mode_lasttoken", false},
                  {"include_prompt", true}};
  const Json limits{{"max_seq_length", most_tokens}, {"do_lower_case", false}};
  const Json library{
      {"prompts", Json::object()}, {"default_prompt_name", nullptr}, {"similarity_fn_name", "cosine"}};
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [name, json] : {std::pair<const char*, const Json&>("modules.json", modules),
                                   {"1_Pooling/config.json", pool},
                                   {"sentence_bert_config.json", limits},
                                   {"config_sentence_transformers.json", library}})
    all.emplace_back(name, json.dump(2) + "\n");
  if (normalize) all.emplace_back("2_Normalize/config.json", "{}\n");
  return all;
}

bool has_dense_module(const std::filesystem::path& folder) {
  const std::string file = (folder / "modules.json").string();
  if (!std::filesystem::exists(file)) return false;
  const Json modules = read_json(file);
  if (!modules.is_array())
    throw file_error(file, "the file is not a list of modules").found(describe(modules)).expected("a list");
  for (const Json& one : modules)
    if (require<std::string>(one, "type", file).ends_with("Dense")) return true;
  return false;
}

}  // namespace regard::train
