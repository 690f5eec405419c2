#include "support/caption_model.h"

#include <string>

#include "base/json.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"

namespace regard::testing {
namespace fs = std::filesystem;

fs::path write_caption_model(const fs::path& folder) {
  fs::create_directories(folder);
  for (const char* file : {"config.json", "generation_config.json", "model.safetensors"})
    fs::copy(golden("hf-tiny/deit-bart") / file, folder / file);
  Json vocabulary = Json::object();
  for (int i = 0; i < 60; ++i) vocabulary["w" + std::to_string(i)] = i;
  Json special = Json::array();
  for (int i = 0; i < 3; ++i)
    special.push_back({{"id", i},
                       {"content", "w" + std::to_string(i)},
                       {"special", true},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", false}});
  const Json tokenizer{{"version", "1.0"},
                       {"truncation", nullptr},
                       {"padding", nullptr},
                       {"added_tokens", special},
                       {"normalizer", nullptr},
                       {"pre_tokenizer", {{"type", "Whitespace"}}},
                       {"post_processor", nullptr},
                       {"decoder", nullptr},
                       {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "w3"}}}};
  write_file(folder, "tokenizer.json", tokenizer.dump());
  return folder;
}

}  // namespace regard::testing
