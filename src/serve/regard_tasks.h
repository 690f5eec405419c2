// Tasks of encoders for one request, shared by regard's own routes and POST /.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve/route.h"
#include "tasks/answer.h"
#include "tasks/fill.h"
#include "tasks/tag.h"

namespace regard::serve {

// Each function throws as the task of the same name (src/tasks) does, and counts the tokens in the call.
std::vector<tasks::Answer> answers_of(Call& call, ModelHost& host, const std::string& question,
                                      const std::string& context, tasks::AnswerOptions options);
// Return the best `count` tokens for each mask.
std::vector<std::vector<tasks::Filling>> fillings_of(Call& call, ModelHost& host, const std::string& text,
                                                     std::size_t count, std::vector<std::string> targets);
// `aggregation` is none, simple, first, average or max.
std::vector<std::vector<tasks::Tag>> tags_of(Call& call, ModelHost& host,
                                             const std::vector<std::string>& texts,
                                             const std::string& aggregation);

}  // namespace regard::serve
