// A request to a Scheduler or to Sessions.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "infer/search.h"
#include "models/network.h"

namespace regard::infer {

struct Request {
  std::uint64_t id = 0;              // id chosen by the caller; passed to the listener
  ModelInput source;                 // source, for encoder–decoders only
  std::vector<std::int32_t> prompt;  // first tokens of the decoder; if empty, the start token is used
  // options of the request; if null, the scheduler's options apply
  std::shared_ptr<const SearchOptions> options = nullptr;
  // The encoder's output [positions, hidden] for `source` if it is already computed; otherwise an undefined
  // tensor.
  Tensor encoded = {};
};

// Return the request to decode `input`: the source of an encoder–decoder, or the prompt of a decoder.
inline Request request_of(const Network& model, ModelInput input, std::uint64_t id = 0) {
  Request request;
  request.id = id;
  if (model.kind() == ModelKind::encoder_decoder)
    request.source = std::move(input);
  else
    request.prompt = std::move(input.ids);
  return request;
}

}  // namespace regard::infer
