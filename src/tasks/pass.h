// One pass of a model over many texts at once, laid end to end without padding. What a text gives does not
// depend on its company.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "models/network.h"
#include "ops/ragged.h"
#include "tasks/reader.h"
#include "tensor/arena.h"

namespace regard::tasks {

// Tokens that one pass takes at most; a longer text goes alone. More brings no speed, only memory.
constexpr std::int64_t kPassTokens = 1024;

class Pass {
 public:
  // All are kept by reference; `probe` may be null.
  Pass(Network& model, ThreadPool& pool, Probe* probe);

  // The last hidden states of these inputs. Valid, as everything on the tape, until the next pass.
  struct States {
    Var hidden = nullptr;  // [tokens, hidden]
    Ragged shape;
  };
  States run(std::span<const Input> inputs);
  States run(const Tensor& pixels);  // [images, channels, height, width]

  // What stands on the states: Network::head().
  Tensor head(const States& states);

  Tape& tape() { return tape_; }
  ThreadPool& pool() { return tape_.pool(); }

 private:
  void begin();

  Network& model_;
  Arena arena_;
  Tape tape_;
  Probe* probe_;
  RaggedBuffer shape_;
  std::vector<std::int32_t> ids_, types_;
};

// Calls work(first, count) for runs of inputs of at most kPassTokens tokens together, in order.
void in_passes(std::span<const Input> inputs,
               const std::function<void(std::size_t first, std::size_t count)>& work);

}  // namespace regard::tasks
