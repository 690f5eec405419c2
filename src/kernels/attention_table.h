// What src/kernels/attention.cpp (the cut into tasks) asks of one instruction set's inner loops.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention.h"
#include "kernels/attention_dropout.h"

namespace regard::kernels {

// Of a sequence, at most: then its keys' way from memory is what counts, and threads share its heads.
constexpr std::int64_t kFewQueries = 8;

// Rows of one sequence and one query head.
struct AttentionRows {
  std::int64_t sequence = 0, head = 0;
  std::int64_t query_begin = 0, query_end = 0;  // within the sequence
};

// Where threads meet: several chunks of keys of one head may be under way at once, but a panel of query
// gradients is added to in the order of the chunks.
class PanelTurns {
 public:
  virtual void wait(std::int64_t panel, std::int64_t turn) = 0;  // until `turn` chunks are done with it
  virtual void done(std::int64_t panel) = 0;

 protected:
  ~PanelTurns() = default;
};

// Keys of one sequence and one key head, for all query heads that use it.
struct AttentionColumns {
  std::int64_t sequence = 0, kv_head = 0;
  std::int64_t key_begin = 0, key_end = 0;  // within the sequence; begin a multiple of backward_keys
  PanelTurns* turns = nullptr;  // panels of all heads of the group in order; null: nobody else is at work
};

struct AttentionTable {
  std::int64_t forward_panel = 0;     // rows in one call of `forward`: a multiple of this is best,
  std::int64_t forward_queries = 0;   // and this is the most
  std::int64_t backward_keys = 0;     // keys in one call of `backward`, at most
  std::int64_t backward_queries = 0;  // in a panel of PanelTurns

  std::size_t (*forward_bytes)(const Attention& problem);
  // `following` (or null): what the same thread does next, to be fetched from memory meanwhile.
  void (*forward)(const Attention& problem, const AttentionDropout& dropout, const AttentionRows& rows,
                  const AttentionRows* following, std::byte* scratch);

  // Assigns the gradients of these keys and values; adds to the query gradients of the sequence, or assigns
  // them where key_begin is 0: so calls for one sequence and head must begin in order of keys, and follow
  // each other unless there are turns.
  std::size_t (*backward_bytes)(const Attention& problem);
  void (*backward)(const Attention& problem, const AttentionDropout& dropout, const AttentionColumns& columns,
                   const AttentionColumns* following, std::byte* scratch);

  // weights [queries, keys], those of `rows`, at row query_begin on.
  std::size_t (*weights_bytes)(const Attention& problem);
  void (*weights)(const Attention& problem, const AttentionRows& rows, float* weights, std::byte* scratch);
};

}  // namespace regard::kernels
