// The served models by name.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "serve/model_host.h"

namespace regard::serve {

// Thread-safe. A replaced model exists until its last request has ended.
class ModelRegistry {
 public:
  using Hosts = std::vector<std::shared_ptr<ModelHost>>;

  // The registry keeps references to the arguments, which must outlive it.
  ModelRegistry(const ServeOptions& options, ThreadPool& pool, Metrics& metrics);

  // Load all folders, then replace all served models. stop() is called before each folder; if it returns
  // true, load() returns without replacing models. If a model cannot be loaded, throws the error and replaces
  // no models.
  void load(const std::function<bool()>& stop = {});
  bool ready() const { return ready_; }

  Hosts all() const;  // return all models, in the order of the options
  // Return the model of this name or, if `name` is empty, the only model with the ability. Throws HttpError
  // 404 for an unknown name, and 400 if the named model lacks the ability or if `name` is empty and not
  // exactly one model has the ability.
  std::shared_ptr<ModelHost> find(std::string_view name, Ability ability) const;
  // throws HttpError 404 if there is no such model
  std::shared_ptr<ModelHost> named(std::string_view name) const;
  std::shared_ptr<ModelHost> detector() const;  // the model that detects languages; null if there is none

 private:
  const ServeOptions& options_;
  ThreadPool& pool_;
  Metrics& metrics_;
  std::atomic<bool> ready_{false};
  mutable std::mutex guard_;  // guards the members below
  Hosts hosts_;
  std::shared_ptr<ModelHost> detector_;
};

}  // namespace regard::serve
