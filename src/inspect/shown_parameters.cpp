#include "inspect/shown_parameters.h"

#include <fmt/format.h>

#include "inspect/edited_pass.h"
#include "inspect/head_pattern.h"

namespace regard::inspect {

std::set<std::string> add_parameters(const Capture& capture, ThreadPool& pool, std::size_t numbers,
                                     View& view) {
  std::set<std::string> points;
  std::size_t used = 0, all = 0, shown = 0;
  for (const std::size_t index : ranked_maps(view)) {
    Map& map = view.maps[index];
    const AttentionParameters* layer = capture.parameters(map.head.kind, map.head.layer);
    if (layer == nullptr || map.average) continue;
    ++all;
    const auto size = static_cast<std::size_t>(layer->weights_of_head());
    if (!map.values || map.rows > kMostSteppedTokens || map.columns > kMostSteppedTokens ||
        used + size > numbers)
      continue;
    map.parameters = layer->of_head(pool, map.head.head);
    used += size, ++shown;
    const std::string name = attention_name(map.head.kind, map.head.layer);
    points.insert({name + ".input", name + ".output"});
    if (map.head.kind == Kind::cross) points.insert("encoder.output");
  }
  if (shown < all)
    view.left_out += fmt::format("{}W_Q, W_K, W_V and W_O are left out for {} of {} heads.",
                                 view.left_out.empty() ? "" : " ", all - shown, all);
  return points;
}

}  // namespace regard::inspect
