#include "cli/opened_model.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/json.h"
#include "infer/greedy.h"
#include "models/weights.h"

namespace regard::cli {

OpenedModel OpenedModel::open(const std::string& path) {
  const formats::ModelFolder folder = formats::ModelFolder::open(path);
  if (!folder.warning.empty()) fmt::print(stderr, "regard: {}\n", folder.warning);
  OpenedModel opened;
  opened.tokenizer = text::Tokenizer::load(folder.tokenizer);
  opened.model = load_model(folder);
  const auto id = [&folder](const char* key) {
    const Json& config = folder.generation_config && folder.generation_config->contains(key)
                             ? *folder.generation_config
                             : folder.config;
    return optional_value<std::int32_t>(config, key, folder.config_file).value_or(-1);
  };
  opened.end_id = id("eos_token_id");
  opened.start_id = id("decoder_start_token_id");
  if (opened.start_id < 0) opened.start_id = id("bos_token_id");
  return opened;
}

std::vector<std::vector<std::int32_t>> OpenedModel::translate(ThreadPool& pool,
                                                              std::span<const std::string> texts) const {
  std::vector<std::vector<std::int32_t>> sources;
  for (const std::string& text : texts) sources.push_back(tokenizer->encode_ids(text));
  return greedy_translations(*model, pool, sources, {start_id, end_id, 0});
}

}  // namespace regard::cli
