// The inner loops of attention that each instruction set provides to src/kernels/attention.cpp, which divides
// the work into tasks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/attention.h"
#include "kernels/attention_dropout.h"

namespace regard::kernels {

// At most this many queries use the memory-bound decoding path, parallel over heads.
constexpr std::int64_t kFewQueries = 8;

// Rows of one sequence and one query head.
struct AttentionRows {
  std::int64_t sequence = 0, head = 0;
  std::int64_t query_begin = 0, query_end = 0;  // range of queries within the sequence
};

// Synchronisation of the backward pass: several key chunks of one head may run at once, but a panel of query
// gradients is updated in the order of the chunks.
class PanelTurns {
 public:
  virtual void wait(std::int64_t panel,
                    std::int64_t turn) = 0;  // wait until `turn` chunks have finished the panel
  virtual void done(std::int64_t panel) = 0;

 protected:
  ~PanelTurns() = default;
};

// Keys of one sequence and one key head, for all query heads that use it.
struct AttentionColumns {
  std::int64_t sequence = 0, kv_head = 0;
  // range of keys within the sequence; begin is a multiple of backward_keys
  std::int64_t key_begin = 0, key_end = 0;
  // Order of the panels of all heads of the group; null if no other thread works on them.
  PanelTurns* turns = nullptr;
};

struct AttentionTable {
  std::int64_t forward_panel = 0;     // preferred multiple of rows per call of `forward`
  std::int64_t forward_queries = 0;   // maximum rows per call of `forward`
  std::int64_t backward_keys = 0;     // maximum keys per call of `backward`
  std::int64_t backward_queries = 0;  // queries in a panel of PanelTurns

  std::size_t (*forward_bytes)(const Attention& problem);
  // `following`: the rows that the thread computes next, to be prefetched; may be null.
  void (*forward)(const Attention& problem, const AttentionDropout& dropout, const AttentionRows& rows,
                  const AttentionRows* following, std::byte* scratch);

  // Assign the gradients of these keys and values; add to the query gradients of the sequence, or assign them
  // if key_begin is 0. Calls for one sequence and head must therefore start in order of keys, and run one
  // after another unless there are turns.
  std::size_t (*backward_bytes)(const Attention& problem);
  void (*backward)(const Attention& problem, const AttentionDropout& dropout, const AttentionColumns& columns,
                   const AttentionColumns* following, std::byte* scratch);

  // Write the weights of `rows` to weights [queries, keys], from row query_begin.
  std::size_t (*weights_bytes)(const Attention& problem);
  void (*weights)(const Attention& problem, const AttentionRows& rows, float* weights, std::byte* scratch);
};

}  // namespace regard::kernels
