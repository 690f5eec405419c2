// Parameters of OpenAI's completions and chat completions, and parts of their responses.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "serve/json_schema.h"
#include "serve/text_generation.h"

namespace regard::serve {

// Return the schema of a request, with the parameters of generation and `fields`.
Json generation_schema(std::initializer_list<std::pair<const char*, Json>> fields,
                       std::initializer_list<const char*> required);

// Return the search options of a request; temperature 0 means greedy search. Defaults: the search options of
// the model folder, except that decoders sample with temperature 1 if the folder does not enable sampling.
// Throws HttpError 400 for invalid values.
infer::SearchOptions search_options_of(const Call& call, const ModelHost& host);

// Return the maximum number of token scores in a response that has `results` results with log-probabilities.
// A token has 1 + search.report_top scores: its own and the scores of its alternatives.
std::int64_t most_scores(const Call& call, const infer::SearchOptions& search, std::int64_t results);
// Throw HttpError 400 if `scores`, the number of token scores in a response, is above the server's limit.
void require_few_scores(std::int64_t scores);

Json usage_of(std::uint64_t prompt_tokens, std::uint64_t completion_tokens);
// returns "stop" or "length": the reason why the text ends
const char* finish_reason(const infer::Hypothesis& hypothesis);
// return a new id: `prefix`, such as "chatcmpl-", and random digits
std::string response_id(const char* prefix);

// Sends server-sent events.
class EventStream {
 public:
  explicit EventStream(Call& call) : call_(call) {}
  // Send an event; the first one begins the response. Returns false if the client has disconnected.
  bool send(const Json& data);
  void finish();  // send "[DONE]" and end the response
  bool begun() const { return begun_; }

 private:
  Call& call_;
  bool begun_ = false;
};

// Handle a request with a completion of the class `Completion`; its member "stream" selects server-sent
// events.
template <class Completion>
void answer_or_stream(Call& call) {
  Completion completion(call);
  if (call.value("stream", false))
    completion.stream();
  else
    completion.answer();
}

}  // namespace regard::serve
