// Interventions of a request: the member "interventions" of its body, a list in the syntax of --intervene
// (inspect/intervention.h). Interventions that name a file are refused: values can be taken only from other
// inputs (text= or ids=).
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

// Maximum number of tokens of a text whose attention weights are stored. For n tokens, each attention head
// has n² weights.
inline constexpr std::int64_t kMostAttended = 1024;

// Throw HttpError 400 if the text has more than kMostAttended tokens.
void require_short(const ModelHost& host, std::string_view text, const char* parameter);

Json interventions_schema();
Json warnings_schema();  // schema of the response's member "warnings"

// While a TurnHolder exists, no other request can have a TurnHolder of the same model.
class TurnHolder {
 public:
  // Wait until all earlier TurnHolders of the model are destroyed. Throws HttpError 504 if the request's
  // deadline passes or its client disconnects before that.
  TurnHolder(ModelHost& host, const Call& call);
  ~TurnHolder();
  TurnHolder(const TurnHolder&) = delete;
  TurnHolder& operator=(const TurnHolder&) = delete;

 private:
  std::shared_ptr<ModelHost> host_;
};

// The resolved interventions of a request. While the object exists, no other request with interventions can
// use the model.
class RequestEdits {
 public:
  // Throws HttpError 400 if an intervention names a file or exceeds a limit, and HttpError 504 if exclusive
  // use is not granted in time. Also throws the errors of Intervention::parse() and inspect::resolve().
  RequestEdits(const Call& call, std::shared_ptr<ModelHost> host);

  const ModelHost& host() const { return *host_; }
  inspect::EditedPass* pass() const { return pass_.get(); }
  const std::vector<std::string>& texts() const { return texts_; }
  // Return the generator that applies the interventions, with its own key/value cache. The first call creates
  // the generator.
  Generator& generator();

 private:
  std::shared_ptr<ModelHost> host_;
  std::vector<std::string> texts_;
  std::optional<TurnHolder> turn_;
  std::unique_ptr<inspect::EditedPass> pass_;
  std::unique_ptr<Generator> generator_;  // declared last, because its thread uses the members above
};

// Return true if a body has interventions.
bool has_interventions(const Json& body);
// Return the interventions of the request, resolved for the model, or null if there are none. call.edits owns
// them.
RequestEdits* edits_of(Call& call, ModelHost& host);
// Return the probe that applies the interventions, or null if there are none.
Probe* probe_of(Call& call, ModelHost& host);

// Allows a request that needs much memory to run, with or without interventions. While the object exists, no
// request with interventions and no other ExclusiveUse can use the model.
class ExclusiveUse {
 public:
  // Throws the errors of edits_of() and of TurnHolder's constructor.
  ExclusiveUse(Call& call, ModelHost& host);

  const RequestEdits* edits() const { return edits_; }  // null if the request has no interventions
  // returns the probe that applies the interventions, or null
  Probe* probe() const;

 private:
  const RequestEdits* edits_;       // interventions, with their own TurnHolder; null if there are none
  std::optional<TurnHolder> turn_;  // has a value only if edits_ is null
};

// Return a generator that applies the request's interventions or, if there are none, the model's own
// generator.
std::shared_ptr<Generator> generator_of(Call& call, ModelHost& host);

}  // namespace regard::serve
