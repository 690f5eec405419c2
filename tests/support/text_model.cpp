#include "support/text_model.h"

#include <map>

#include "base/json.h"
#include "formats/safetensors.h"
#include "models/weights.h"
#include "ops/parameter.h"
#include "support/program.h"
#include "support/tiny_models.h"
#include "text/train_bpe.h"

namespace regard::testing {

void write_text_model(const std::filesystem::path& folder, const std::string& name,
                      std::int64_t max_positions) {
  TransformerConfig config = tiny_config(name);
  const bool translates = config.kind == "encoder-decoder";
  text::CharacterTrainingOptions options;
  options.byte_fallback = false;
  options.end_token = translates;
  const auto tokenizer = text::train_characters(
      [done = false](std::string& line) mutable {
        line = "the quick brown fox jumps over the lazy dog";
        return !std::exchange(done, true);
      },
      options);
  config.vocabulary = tokenizer->vocabulary_size();
  config.source_vocabulary = 0;
  if (max_positions > 0) config.positions = "learned", config.max_positions = max_positions;
  const std::unique_ptr<Network> model = make_transformer(config);
  initialise(*model, 11);
  for (Parameter* parameter : model->parameters())
    if (parameter->value().shape().rank() == 2)
      for (std::int64_t i = 0; i < parameter->value().elements(); ++i) parameter->value().f32()[i] *= 1.8f;
  std::filesystem::create_directories(folder);
  formats::write_safetensors(folder / "model.safetensors", weights_of(*model));
  write_file(folder, "config.json", model->config().dump(2));
  Json generation{{"pad_token_id", 0}, {"bos_token_id", 2}, {"eos_token_id", 3}};
  if (translates) generation["decoder_start_token_id"] = 2;
  write_file(folder, "generation_config.json", generation.dump(2));
  tokenizer->save(folder / "tokenizer.json");
}

}  // namespace regard::testing
