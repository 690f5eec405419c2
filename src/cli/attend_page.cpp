// regard attend --html: data that only the HTML page shows.
#include <fmt/format.h>

#include "base/progress.h"
#include "cli/attend.h"
#include "cli/weight_mode.h"
#include "inspect/film.h"
#include "inspect/shown_tokens.h"
#include "inspect/what_if.h"
#include "regard/error.h"

namespace regard::cli {
namespace {

// Return the attention weights for the text given with --compare, computed with the options of `request`. The
// target text, if there is one, is generated.
inspect::View compared_view(const AttendOptions& options, const infer::LoadedModel& opened,
                            const inspect::AttendRequest& request, Globals& globals) {
  inspect::AttendRequest other = request;
  other.text = options.compare;
  other.written.clear(), other.unablated.clear(), other.beams.reset();
  const ModelKind kind = opened.model->kind();
  if (kind == ModelKind::encoder_decoder || (options.generate > 0 && kind == ModelKind::decoder))
    inspect::generate_target(opened, globals.pool(), other, options.generate);
  return inspect::attend(opened, globals.pool(), other);
}

}  // namespace

void require_no_text_options(const AttendOptions& options, const char* reads) {
  for (const auto& [name, given] : {std::pair{"--pair", !options.pair.empty()},
                                    {"--compare", !options.compare.empty()},
                                    {"--tokenizer", !options.tokenizers.empty()},
                                    {"--checkpoints", options.checkpoints}})
    if (given)
      throw usage_error(fmt::format("{} needs a model that reads text; this model reads {}", name, reads))
          .remedy(fmt::format("Remove {}", name));
}

void require_capture(const AttendOptions& options, bool json) {
  if (json || !options.html.empty()) return;
  for (const auto& [name, given] : {std::pair{"--values", options.values},
                                    {"--activations", !options.activations.empty()},
                                    {"--full", options.full},
                                    {"--tokenizer", !options.tokenizers.empty()}})
    if (given)
      throw usage_error(fmt::format("{} needs --html or --json", name)).remedy("Add --html FILE or --json");
}

void require_generated(const AttendOptions& options, bool generates, ModelKind kind) {
  if (options.generate > 0 && kind == ModelKind::encoder)
    throw usage_error("--generate needs a model with a decoder").remedy("Remove --generate");
  // --target is the target of TEXT only; the target of the text of --compare is still generated.
  if (options.generate > 0 && !options.target.empty() && options.compare.empty())
    throw usage_error("--generate cannot be combined with --target").remedy("Remove one of the two options");
  if (options.beam == 0 || generates) return;
  throw usage_error("--beam applies only to a text that the model generates")
      .remedy(kind == ModelKind::decoder ? "Add --generate N" : "Remove --beam");
}

void add_tokenizers(const AttendOptions& options, const infer::LoadedModel& opened, inspect::View& view) {
  if (options.tokenizers.empty()) return;
  view.tokenizers.push_back(inspect::tokenized(*opened.source, options.model, options.text));
  for (const std::string& file : options.tokenizers)
    view.tokenizers.push_back(inspect::tokenized(*text::Tokenizer::load(file), file, options.text));
}

void add_page_parts(const AttendOptions& options, const infer::LoadedModel& opened,
                    const inspect::AttendRequest& request, Globals& globals, inspect::View& view) {
  if (options.what_if > 0) {
    catch_signals();
    ProgressBar bar(globals.quiet);
    inspect::WhatIfOptions what_if;
    what_if.heads = options.what_if;
    what_if.generate = options.target.empty() && !request.written.empty();
    what_if.max_new = options.generate;
    what_if.progress = [&](double share) {
      bar.update(share, "ablating heads");
      return stop_signal() == 0;
    };
    inspect::add_what_if(opened, globals.pool(), request, what_if, view);
  }
  if (options.checkpoints) {
    catch_signals();
    ProgressBar bar(globals.quiet);
    inspect::FilmOptions film;
    film.weight_mode = weight_mode(globals);
    film.generate = options.target.empty() && !request.written.empty();
    film.max_new = options.generate;
    film.progress = [&](double share) {
      bar.update(share, "reading checkpoints");
      return stop_signal() == 0;
    };
    inspect::add_film(options.model, globals.pool(), request, film, view);
  }
  if (!options.compare.empty())
    view.compared = std::make_shared<inspect::View>(compared_view(options, opened, request, globals));
}

}  // namespace regard::cli
