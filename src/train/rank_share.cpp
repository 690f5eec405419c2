#include "train/rank_share.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "base/hash.h"
#include "base/json.h"

namespace regard::train {
namespace {

std::span<std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data()), tensor.bytes()};
}

std::int64_t trained_elements(const Parameter& parameter) {
  return parameter.trainable() ? parameter.value().elements() : 0;
}

// Return the names and shapes of tensors, so that rank 0 can allocate them before receiving.
std::string description(const std::vector<formats::NamedTensor>& tensors) {
  Json all = Json::array();
  for (const formats::NamedTensor& named : tensors) {
    const auto sizes = named.tensor.shape().sizes();
    all.push_back({named.name, std::vector<std::int64_t>(sizes.begin(), sizes.end())});
  }
  return all.dump();
}

std::vector<formats::NamedTensor> described(const std::string& text) {
  std::vector<formats::NamedTensor> tensors;
  for (const Json& entry : Json::parse(text)) {
    const auto sizes = entry.at(1).get<std::vector<std::int64_t>>();
    tensors.push_back({entry.at(0).get<std::string>(), Tensor::zeros(Shape(std::span(sizes)))});
  }
  return tensors;
}

}  // namespace

std::int64_t micro_batches_of_rank(std::int64_t accumulate, int ranks) {
  if (accumulate % ranks == 0) return accumulate / ranks;
  throw usage_error(
      fmt::format("the micro-batches of a step ('training.accumulate') cannot be divided among {} ranks",
                  ranks))
      .found(counted(accumulate, "micro-batch", "micro-batches"))
      .expected(fmt::format("a multiple of {}", ranks))
      .remedy("Change the number of ranks, or change 'training.accumulate', which also changes the result");
}

std::vector<std::size_t> shard_bounds(std::span<Parameter* const> parameters, int ranks) {
  std::int64_t all = 0, before = 0;
  for (const Parameter* parameter : parameters) all += trained_elements(*parameter);
  std::vector<std::size_t> bounds{0};
  std::size_t next = 0;
  for (int rank = 1; rank < ranks; ++rank) {
    // Select the parameter boundary that is closest to an equal division.
    const double share = static_cast<double>(all) * rank / ranks;
    while (next < parameters.size()) {
      const auto size = static_cast<double>(trained_elements(*parameters[next]));
      if (static_cast<double>(before) + size / 2 > share) break;
      before += trained_elements(*parameters[next++]);
    }
    bounds.push_back(next);
  }
  bounds.push_back(parameters.size());
  return bounds;
}

void share_weights(distributed::Ranks& ranks, std::span<Parameter* const> parameters,
                   std::span<const std::size_t> bounds) {
  distributed::Exchange exchange(ranks);
  for (int owner = 0; owner < ranks.size(); ++owner)
    for (std::size_t i = bounds[static_cast<std::size_t>(owner)];
         i < bounds[static_cast<std::size_t>(owner) + 1]; ++i) {
      if (!parameters[i]->trainable()) continue;
      const auto bytes = bytes_of(parameters[i]->value());
      if (owner != ranks.rank()) exchange.receive(owner, bytes);
      for (int other = 0; owner == ranks.rank() && other < ranks.size(); ++other)
        if (other != owner) exchange.send(other, bytes);
    }
  exchange.wait_all();
}

void share_weights_of_first(distributed::Ranks& ranks, std::span<Parameter* const> parameters) {
  for (const Parameter* parameter : parameters) ranks.broadcast(0, bytes_of(parameter->value()));
}

std::vector<formats::NamedTensor> gather_tensors(distributed::Ranks& ranks,
                                                 const std::vector<formats::NamedTensor>& mine) {
  const std::vector<std::string> texts = ranks.gather(description(mine));
  std::vector<formats::NamedTensor> all;
  distributed::Exchange exchange(ranks);
  if (!ranks.first())
    for (const formats::NamedTensor& named : mine) exchange.send(0, bytes_of(named.tensor));
  else
    all = mine;
  for (int rank = 1; ranks.first() && rank < ranks.size(); ++rank)
    for (const formats::NamedTensor& named : described(texts[static_cast<std::size_t>(rank)])) {
      exchange.receive(rank, bytes_of(named.tensor));
      all.push_back(named);
    }
  exchange.wait_all();
  return all;
}

void check_agreement(distributed::Ranks& ranks, std::span<const Agreement> properties) {
  for (const Agreement& property : properties) {
    const std::vector<std::uint64_t> values = ranks.gather(property.value);
    for (std::size_t rank = 1; rank < values.size(); ++rank)
      if (values[rank] != values[0])
        throw usage_error(fmt::format("{} of rank {} and of rank 0 differ", property.what, rank))
            .remedy("Give all ranks the same run file, data and instruction set (REGARD_ISA)");
  }
}

std::uint64_t weights_hash(std::span<Parameter* const> parameters) {
  Xxh3Stream hash;
  for (const Parameter* parameter : parameters) hash.add(bytes_of(parameter->value()));
  return hash.value();
}

}  // namespace regard::train
