// Interventions of a request: the member "interventions" of its body, a list in the syntax of --intervene
// (inspect/intervention.h). An intervention that names a file is refused; values are read only from other
// inputs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/edited_pass.h"
#include "serve/model_host.h"
#include "serve/route.h"

namespace regard::serve {

// Maximum tokens of a text when attention weights are kept. The map of a head has that number squared
// elements.
inline constexpr std::int64_t kMostAttended = 1024;

// Throws HttpError 400 if the text has more than kMostAttended tokens.
void require_short(const ModelHost& host, std::string_view text, const char* parameter);

Json interventions_schema();

// Exclusive use of a model among the TurnHolders of all requests, during the object's lifetime.
class TurnHolder {
 public:
  // Wait until all earlier TurnHolders of the model are destroyed. Throws HttpError 504 if the request's
  // deadline passes or the client disconnects first.
  TurnHolder(ModelHost& host, const Call& call);
  ~TurnHolder();
  TurnHolder(const TurnHolder&) = delete;
  TurnHolder& operator=(const TurnHolder&) = delete;

 private:
  std::shared_ptr<ModelHost> host_;
};

// The resolved interventions of a request, with exclusive use of the model among such requests during the
// object's lifetime.
class RequestEdits {
 public:
  // Throws HttpError 400 for an intervention that names a file or is too long, HttpError 504 if exclusive
  // use is not granted in time, and the errors of inspect::resolve().
  RequestEdits(const Call& call, std::shared_ptr<ModelHost> host);

  const ModelHost& host() const { return *host_; }
  inspect::EditedPass* pass() const { return pass_.get(); }
  const std::vector<std::string>& texts() const { return texts_; }
  // Return the generator that applies the interventions. It has its own cache. Created by the first call.
  Generator& generator();

 private:
  std::shared_ptr<ModelHost> host_;
  std::vector<std::string> texts_;
  std::optional<TurnHolder> turn_;
  std::unique_ptr<inspect::EditedPass> pass_;
  infer::SearchOptions options_;
  std::unique_ptr<Generator> generator_;  // declared last: its thread uses the members above
};

// Return whether a body has interventions.
bool has_interventions(const Json& body);
// Return the request's interventions in the model, which call.edits owns; null if there are none.
RequestEdits* edits_of(Call& call, ModelHost& host);
// Return the probe that applies them; null if there are none.
Probe* probe_of(Call& call, ModelHost& host);
// Return the generator of the request: that of its interventions, or else the model's.
std::shared_ptr<Generator> generator_of(Call& call, ModelHost& host);

}  // namespace regard::serve
