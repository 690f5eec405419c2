#include "cli/decoding_options.h"

#include "cli/number_checks.h"
#include "cli/text_argument.h"
#include "infer/folder_options.h"
#include "regard/error.h"

namespace regard::cli {
Json SearchFlags::settings_object() const {
  Json values = Json::object();
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == 0 || equals == setting.npos)
      throw usage_error("invalid argument of --set").found("\"" + setting + "\"").expected("KEY=VALUE");
    const std::string value = setting.substr(equals + 1);
    const Json parsed = Json::parse(value, nullptr, false);  // a value that is not JSON is a string
    values[setting.substr(0, equals)] = parsed.is_discarded() ? Json(value) : parsed;
  }
  infer::check_setting_names(values, "--set");
  return values;
}

void TextFlags::add_to(infer::SearchOptions& search, const infer::LoadedModel& model) const {
  if (!stop.empty()) search.stop_strings = std::make_shared<infer::StopStrings>(model.target, stop);
  model.ban(bad_words, search.rules);
}

std::vector<CLI::Option*> add_search_flags(CLI::App& verb, SearchFlags& flags) {
  return {
      verb.add_option("--beam,-b", flags.beam,
                      "Beam width; 1 is greedy search. Default: the width set in the model's folder"),
      verb.add_option("--n-best", flags.n_best,
                      "Number of results per line, printed as INDEX ||| TEXT ||| SCORE; with --sample, the "
                      "results are sampled independently"),
      verb.add_option(
          "--max-new", flags.max_new,
          "Maximum number of generated tokens per line; 0 derives it from the length of the input"),
      verb.add_option("--min-new", flags.min_new, "Minimum number of generated tokens per line")
          ->check(not_negative()),
      verb.add_option("--length-penalty", flags.length_penalty,
                      "Score of a hypothesis = sum of log-probabilities / tokens^PENALTY"),
      verb.add_option("--early-stopping", flags.early_stopping,
                      "Rule that ends the beam search (transformers' early_stopping): no, yes, never")
          ->check(CLI::IsMember({"no", "yes", "never"})),
      verb.add_option("--repetition-penalty", flags.repetition_penalty,
                      "Penalty for tokens that occurred before; 1 disables it"),
      verb.add_option("--no-repeat-ngram", flags.no_repeat_ngram,
                      "Never generate the same sequence of N tokens twice; 0 disables this")
          ->check(not_negative()),
      verb.add_flag("--sample", flags.sample,
                    "Sample tokens instead of choosing the most probable; uses --seed"),
      verb.add_option("--temperature", flags.temperature, "Divide logits by this before sampling"),
      verb.add_option("--top-k", flags.top_k, "Sample from the K most probable tokens; 0 uses all"),
      verb.add_option("--top-p", flags.top_p,
                      "Sample from the smallest set of tokens with this total probability"),
      verb.add_option("--min-p", flags.min_p,
                      "Sample from tokens with at least this fraction of the highest probability"),
      verb.add_option("--typical-p", flags.typical_p,
                      "Sample from the locally typical set with this total probability"),
      verb.add_option("--set", flags.settings,
                      "Override a key of generation_config.json: KEY=VALUE; repeatable")
          ->allow_extra_args(false)};
}

void add_text_flags(CLI::App& verb, TextFlags& flags) {
  verb.add_option("--stop", flags.stop, "Stop before this text; repeatable")
      ->allow_extra_args(false)
      ->check(valid_text());
  verb.add_option("--bad-word", flags.bad_words, "Never generate this word; repeatable")
      ->allow_extra_args(false)
      ->check(valid_text());
}

}  // namespace regard::cli
