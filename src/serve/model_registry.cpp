#include "serve/model_registry.h"

#include <exception>

#include "regard/error.h"
#include "serve/http_error.h"

namespace regard::serve {

namespace {

// Throw usage if there are chat models, but the template of --chat-template is not available for any of them.
void check_chat_template(const ModelRegistry::Hosts& hosts) {
  std::exception_ptr error;
  for (const auto& host : hosts) {
    if (!host->can(Ability::chat)) continue;
    try {
      return host->check_chat_template();
    } catch (const Error&) {
      error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace

ModelRegistry::ModelRegistry(const ServeOptions& options, ThreadPool& pool, Metrics& metrics)
    : options_(options), pool_(pool), metrics_(metrics) {}

void ModelRegistry::load(const std::function<bool()>& stop) {
  Hosts hosts;
  std::shared_ptr<ModelHost> detector;
  for (const ServedFolder& folder : options_.folders) {
    if (stop && stop()) return;
    hosts.push_back(std::make_shared<ModelHost>(folder, options_, pool_, metrics_));
  }
  if (!options_.chat_template.empty()) check_chat_template(hosts);
  if (!options_.detect.empty()) {
    detector =
        std::make_shared<ModelHost>(ServedFolder{"detect", options_.detect}, options_, pool_, metrics_);
    if (!detector->can(Ability::classify))
      throw usage_error("the model of --detect is not a classifier").at({options_.detect.string(), -1, -1});
  }
  {
    const std::lock_guard lock(guard_);
    hosts_.swap(hosts);
    detector_.swap(detector);
    ready_ = true;
  }
  // Replaced models that no request uses are destroyed here, outside the lock.
}

ModelRegistry::Hosts ModelRegistry::all() const {
  const std::lock_guard lock(guard_);
  return hosts_;
}

std::shared_ptr<ModelHost> ModelRegistry::detector() const {
  const std::lock_guard lock(guard_);
  return detector_;
}

std::shared_ptr<ModelHost> ModelRegistry::named(std::string_view name) const {
  for (const auto& host : all())
    if (host->name() == name) return host;
  throw HttpError(404, "the model \"" + std::string(name) + "\" does not exist", "model_not_found", "model");
}

std::shared_ptr<ModelHost> ModelRegistry::find(std::string_view name, Ability ability) const {
  if (!name.empty()) {
    auto host = named(name);
    if (host->can(ability)) return host;
    throw HttpError(400, "the model \"" + std::string(name) + "\" cannot " + name_of(ability),
                    "model_not_suitable", "model");
  }
  const Hosts hosts = all();
  std::shared_ptr<ModelHost> only;
  std::string names;
  for (const auto& host : hosts) {
    if (!host->can(ability)) continue;
    names += (only ? ", " : "") + host->name();
    if (!only) only = host;
  }
  if (!only)
    throw HttpError(400, std::string("no model of this server can ") + name_of(ability), "model_not_found",
                    "model");
  if (names != only->name())
    throw HttpError(400, "several models have this ability; name one of: " + names, "model_ambiguous",
                    "model");
  return only;
}

}  // namespace regard::serve
