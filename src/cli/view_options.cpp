#include "cli/view_options.h"

#include "cli/number_checks.h"

namespace regard::cli {

void ViewOptions::add_to(inspect::AttendRequest& request) const {
  request.average = average;
  request.selection.layers.insert(layers.begin(), layers.end());
  request.selection.heads.insert(heads.begin(), heads.end());
  if (!kind.empty()) request.selection.kinds.insert(*inspect::kind_of(kind));
  request.selection.values = values;
  request.selection.parameters = parameters;
  request.selection.activations.insert(activations.begin(), activations.end());
}

std::vector<CLI::Option*> add_view_options(CLI::App& verb, ViewOptions& options) {
  return {
      verb.add_option(
              "--layer,--layers", options.layers,
              "Layers to show: numbers from 0, separated by commas. Default: all; on the terminal and in "
              "SVG, the layer of the head with the highest score")
          ->delimiter(',')
          ->check(not_negative()),
      verb.add_option(
              "--head,--heads", options.heads,
              "Heads to show: numbers from 0, separated by commas. Default: all; on the terminal and in SVG, "
              "the head with the highest score")
          ->delimiter(',')
          ->check(not_negative()),
      verb.add_option(
              "--kind", options.kind,
              "Kind of attention: encoder, decoder or cross. Default: cross for an encoder-decoder on "
              "the terminal and in SVG, all kinds in a capture")
          ->check(CLI::IsMember({"encoder", "decoder", "cross"})),
      verb.add_flag("--average", options.average,
                    "Show the average over each layer's heads instead of single heads"),
      verb.add_flag("--values", options.values,
                    "Add the query, key and value vectors of the heads to the capture"),
      verb.add_flag("--parameters", options.parameters,
                    "Add W_Q, W_K, W_V and W_O of the heads with the highest scores to the capture; needs "
                    "--values and a text of at most 64 tokens")
          ->needs("--values"),
      verb.add_option("--activations", options.activations,
                      "Add activations to the capture: names of probe points or ends of such names, such as "
                      "residual or encoder.0.feed_forward.inner, separated by commas")
          ->delimiter(','),
      verb.add_flag("--full", options.full,
                    "Write the complete capture in f32. Default: numbers of 8 bits, and for a long text "
                    "the weights of only the heads with the highest scores")};
}

}  // namespace regard::cli
