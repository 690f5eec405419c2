#include "infer/hypothesis_json.h"

namespace regard::infer {

Json hypothesis_json(const LoadedModel& model, const Hypothesis& hypothesis, const std::string& text,
                     bool each) {
  Json json{{"text", text},
            {"score", hypothesis.score},
            {"log_probability", hypothesis.log_probability},
            {"tokens", hypothesis.tokens.size()},
            {"ended", hypothesis.ended}};
  if (!each) return json;
  Json& pieces = json["pieces"] = Json::array();
  for (std::size_t i = 0; i < hypothesis.tokens.size(); ++i)
    pieces.push_back({{"id", hypothesis.tokens[i]},
                      {"text", model.target->token_of(hypothesis.tokens[i])},
                      {"log_probability", hypothesis.token_log_probabilities[i]}});
  return json;
}

}  // namespace regard::infer
