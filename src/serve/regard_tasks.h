// Runs the encoder tasks of a request: question answering, masked words and token labels. Used by regard's
// own routes and by POST /.
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

// Each function throws the errors of its task (src/tasks) and adds the number of input tokens to
// call.prompt_tokens.
std::vector<tasks::Answer> answers_of(Call& call, ModelHost& host, const std::string& question,
                                      const std::string& context, tasks::AnswerOptions options);
// Return the `count` best tokens for each mask.
std::vector<std::vector<tasks::Filling>> fillings_of(Call& call, ModelHost& host, const std::string& text,
                                                     std::size_t count, std::vector<std::string> targets);
// `aggregation` is none, simple, first, average or max.
std::vector<std::vector<tasks::Tag>> tags_of(Call& call, ModelHost& host,
                                             const std::vector<std::string>& texts,
                                             const std::string& aggregation);

}  // namespace regard::serve
