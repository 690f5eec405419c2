// Function table of the inner loops of attention, one table per instruction set. src/kernels/attention.cpp
// divides the work into tasks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention.h"
#include "kernels/attention_dropout.h"

namespace regard::kernels {

// At most this many queries use the memory-bound decoding path, parallel over heads.
constexpr std::int64_t kFewQueries = 8;

// A range of queries of one sequence and one query head.
struct AttentionRows {
  std::int64_t sequence = 0, head = 0;
  std::int64_t query_begin = 0, query_end = 0;  // range of queries within the sequence
};

// Synchronisation of the backward pass. Several key chunks of one head may run at once, but they update a
// panel of query gradients one after another, in the order of the chunks.
class PanelTurns {
 public:
  virtual void wait(std::int64_t panel,
                    std::int64_t turn) = 0;  // wait until `turn` key chunks have updated the panel
  virtual void done(std::int64_t panel) = 0;

 protected:
  ~PanelTurns() = default;
};

// A range of keys of one sequence and one key/value head. All query heads that use this head are included.
struct AttentionColumns {
  std::int64_t sequence = 0, kv_head = 0;
  // range of keys within the sequence; begin is a multiple of backward_keys
  std::int64_t key_begin = 0, key_end = 0;
  // Orders the updates of the query gradients of all heads that use kv_head. Null if only one thread updates
  // them.
  PanelTurns* turns = nullptr;
};

struct AttentionTable {
  std::int64_t forward_panel = 0;     // number of rows in a call of `forward` should be a multiple of this
  std::int64_t forward_queries = 0;   // maximum number of rows in a call of `forward`
  std::int64_t backward_keys = 0;     // maximum number of keys in a call of `backward`
  std::int64_t backward_queries = 0;  // number of queries in a panel of PanelTurns

  std::size_t (*forward_bytes)(const Attention& problem);
  // Compute out and, unless it is null, lse of `rows`. `following` holds the rows that this thread computes
  // next, so that their keys can be prefetched; it may be null.
  void (*forward)(const Attention& problem, const AttentionDropout& dropout, const AttentionRows& rows,
                  const AttentionRows* following, std::byte* scratch);

  // Compute (overwrite) the gradients of the keys and values in `columns`. Overwrite the query gradients if
  // key_begin is 0, otherwise add to them. Calls for one sequence and head must therefore start in the order
  // of keys, and may overlap only if `turns` is set.
  std::size_t (*backward_bytes)(const Attention& problem);
  void (*backward)(const Attention& problem, const AttentionDropout& dropout, const AttentionColumns& columns,
                   const AttentionColumns* following, std::byte* scratch);

  // Write the attention weights of `rows` to weights [queries, keys], starting at row query_begin.
  std::size_t (*weights_bytes)(const Attention& problem);
  void (*weights)(const Attention& problem, const AttentionRows& rows, float* weights, std::byte* scratch);
};

}  // namespace regard::kernels
