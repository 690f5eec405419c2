// The task "language-model" with data.conversations: train a decoder on the assistant's messages in
// conversations.
#pragma once

#include <memory>

#include "train/task.h"

namespace regard::train {

std::unique_ptr<Task> make_conversation_model(const RunConfig& config);

}  // namespace regard::train
