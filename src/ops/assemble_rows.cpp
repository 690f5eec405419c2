#include "ops/assemble_rows.h"

#include <algorithm>

#include "base/counted.h"
#include "ops/check.h"

namespace regard::ops {
namespace {

struct AssembleNode : Tape::Node {
  std::span<PlacedRows> parts;
  static void backward(AssembleNode& node, Tape& tape) {
    const std::int64_t features = node.out->value.columns();
    for (const PlacedRows& placed : node.parts) {
      float* const to = tape.accumulated(placed.part);
      if (to == nullptr) continue;
      for (std::size_t r = 0; r < placed.places.size(); ++r) {
        const float* const from = node.out->gradient.row(placed.places[r]);
        float* const row = to + static_cast<std::int64_t>(r) * features;
        for (std::int64_t f = 0; f < features; ++f) row[f] += from[f];
      }
    }
  }
};

}  // namespace

Var assemble_rows(Tape& tape, std::span<const PlacedRows> parts, std::int64_t rows) {
  if (parts.empty()) throw usage_error("assemble rows: expected at least one part, found none");
  const std::int64_t features = parts[0].part->value.columns();
  std::int64_t places = 0;
  bool wanted = false;
  for (const PlacedRows& placed : parts) {
    require_matrix("assemble rows", "a part", placed.part);
    if (placed.part->value.columns() != features || placed.part->value.rows() != std::ssize(placed.places))
      throw shape_error("assemble rows", "a part has a wrong shape", {{"part", placed.part}})
          .expected("[" + std::to_string(placed.places.size()) + ", " + std::to_string(features) + "]");
    require_ids("assemble rows", placed.places, rows);
    places += std::ssize(placed.places);
    wanted = wanted || tape.wanted({placed.part});
  }
  if (places != rows)
    throw usage_error("assemble rows: the parts have a wrong number of rows in total")
        .found(counted(places, "row"))
        .expected(counted(rows, "row"));
  Var out = tape.make({rows, features}, wanted);
  for (const PlacedRows& placed : parts)
    for (std::size_t r = 0; r < placed.places.size(); ++r)
      std::copy_n(placed.part->value.row(static_cast<std::int64_t>(r)), features,
                  out->value.row(placed.places[r]));
  if (wanted) tape.record(AssembleNode{{.out = out}, tape.arena().copied(parts)});
  return out;
}

}  // namespace regard::ops
