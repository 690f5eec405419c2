// State shared by the objects of regard/tasks.h.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/check.h"
#include "api/model_state.h"
#include "api/pool.h"
#include "base/placed.h"
#include "base/thread_pool.h"
#include "models/network.h"
#include "ops/probe.h"
#include "regard/model.h"

namespace regard::api {

// The thread pool of a task object, and the mutex that serialises calls of the object.
struct Turns {
  std::shared_ptr<ThreadPool> pool = api::pool();
  std::mutex calls;

  std::unique_lock<std::mutex> take() { return std::unique_lock(calls); }
};

// Return the probe that ablates the heads and applies the interventions; null if both lists are empty.
std::unique_ptr<Probe> probe_of(const infer::LoadedModel& loaded, ThreadPool& pool,
                                const std::vector<HeadName>& ablated,
                                const std::vector<std::string>& interventions);

// State of a task object that runs a model.
struct REGARD_HIDDEN TaskState {
  TaskState(std::shared_ptr<ModelAccess::State> of, const std::vector<HeadName>& ablated,
            const std::vector<std::string>& interventions)
      : model(std::move(of)), probe(probe_of(model->loaded, *turns.pool, ablated, interventions)) {}

  Turns turns;
  std::shared_ptr<ModelAccess::State> model;
  std::unique_ptr<Probe> probe;
};

// Check that the texts are UTF-8, and convert each to a model input with `reader`.
template <class Reader>
auto read_texts(Reader& reader, std::span<const std::string> texts) {
  std::vector<decltype(reader.read(texts[0]))> inputs;
  for (const std::string& text : texts) {
    check_text(text);
    inputs.push_back(reader.read(text));
  }
  return inputs;
}

// Create the state of a task. Errors thrown by its constructor name the model's folder.
template <class State, class... Options>
std::shared_ptr<State> made(const Model& model, const Options&... options) {
  const std::shared_ptr<ModelAccess::State>& of = ModelAccess::state(model);
  return placed({of->name}, [&] { return std::make_shared<State>(of, options...); });
}

}  // namespace regard::api
