// The families whose checkpoints are read: for each the value of "model_type" and the function that turns its
// configuration into an Architecture. Adding one: docs/adding-a-family.md.
#pragma once

#include <string>
#include <vector>

#include "models/architecture.h"
#include "models/families/config_reader.h"

namespace regard::families {

Architecture bart(const ConfigReader& config);
Architecture bert(const ConfigReader& config);
Architecture blenderbot(const ConfigReader& config);
Architecture deit(const ConfigReader& config);
Architecture distilbert(const ConfigReader& config);
Architecture electra(const ConfigReader& config);
Architecture gemma(const ConfigReader& config);
Architecture gpt2(const ConfigReader& config);
Architecture llama(const ConfigReader& config);
Architecture marian(const ConfigReader& config);
Architecture mistral(const ConfigReader& config);
Architecture mpnet(const ConfigReader& config);
Architecture pegasus(const ConfigReader& config);
Architecture qwen2(const ConfigReader& config);
Architecture qwen3(const ConfigReader& config);
Architecture roberta(const ConfigReader& config);
Architecture t5(const ConfigReader& config);
Architecture vit(const ConfigReader& config);

// The family's Architecture. Throws bad_file naming file and key; for a family that is not there it names
// those that are, and the nearest.
Architecture read(const Json& config, const std::string& file);

std::vector<std::string> names();  // model_type of all

}  // namespace regard::families
