// Interventions of a request: the member "interventions" of its body, a list in the language of --intervene
// (inspect/intervention.h). Values are read from other inputs only: an intervention that names a file is
// refused.
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

// Maximum tokens of a text whose attention weights are kept: a map of a head has the square of this number.
inline constexpr std::int64_t kMostAttended = 1024;

// Throws HttpError 400 if the text has more than kMostAttended tokens.
void require_short(const ModelHost& host, std::string_view text, const char* parameter);

Json interventions_schema();

// Exclusive access to a model among the requests that hold its turn, while the object exists.
class TurnHolder {
 public:
  // Wait until no other TurnHolder of the model exists. Throws HttpError 504 if the request's deadline passes
  // or the client disconnects first.
  TurnHolder(ModelHost& host, const Call& call);
  ~TurnHolder();
  TurnHolder(const TurnHolder&) = delete;
  TurnHolder& operator=(const TurnHolder&) = delete;

 private:
  std::shared_ptr<ModelHost> host_;
};

// The resolved interventions of a request, and the model's turn for such requests while the object exists.
class RequestEdits {
 public:
  // Throws HttpError 400 for an intervention that names a file or is too long, 504 if the turn does not come
  // in time, and as inspect::resolve().
  RequestEdits(const Call& call, std::shared_ptr<ModelHost> host);

  const ModelHost& host() const { return *host_; }
  inspect::EditedPass* pass() const { return pass_.get(); }
  const std::vector<std::string>& texts() const { return texts_; }
  // Generates under the interventions, with a cache of its own; made by the first call.
  Generator& generator();

 private:
  std::shared_ptr<ModelHost> host_;
  std::vector<std::string> texts_;
  std::optional<TurnHolder> turn_;
  std::unique_ptr<inspect::EditedPass> pass_;
  infer::SearchOptions options_;
  std::unique_ptr<Generator> generator_;  // last: its thread uses the others
};

// The request's interventions in the model, kept in call.edits; null if it has none.
RequestEdits* edits_of(Call& call, ModelHost& host);
// The probe that applies them; null if there are none.
Probe* probe_of(Call& call, ModelHost& host);
// The generator of the request: the model's, or that of the interventions.
std::shared_ptr<Generator> generator_of(Call& call, ModelHost& host);

}  // namespace regard::serve
