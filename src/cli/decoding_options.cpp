#include "cli/decoding_options.h"

#include <algorithm>

#include "cli/number_checks.h"
#include "cli/text_argument.h"
#include "regard/error.h"

namespace regard::cli {
namespace {

infer::EarlyStopping early_stopping_of(const std::string& name) {
  if (name == "yes") return infer::EarlyStopping::yes;
  return name == "never" ? infer::EarlyStopping::never : infer::EarlyStopping::no;
}

template <class T>
void take(const std::optional<T>& given, T& value) {
  if (given) value = *given;
}

}  // namespace

Json SearchFlags::settings_object() const {
  Json values = Json::object();
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == 0 || equals == setting.npos)
      throw usage_error("invalid argument of --set").expected("KEY=VALUE").found("\"" + setting + "\"");
    const std::string value = setting.substr(equals + 1);
    const Json parsed = Json::parse(value, nullptr, false);  // a value that is not JSON is a string
    values[setting.substr(0, equals)] = parsed.is_discarded() ? Json(value) : parsed;
  }
  return values;
}

infer::SearchOptions SearchFlags::over(infer::SearchOptions search, std::uint64_t seed) const {
  if (sample || temperature || top_k || top_p || min_p || typical_p) {
    search.sample = true;
    search.beam = 1;
  }
  if (beam) {
    search.beam = *beam;
    search.sample = sample;
    if (!sample) search.n_best = std::min(search.n_best, search.beam);
  }
  take(n_best, search.n_best);
  if (!search.sample && !beam) search.beam = std::max(search.beam, search.n_best);
  take(max_new, search.max_new);
  take(min_new, search.rules.min_new);
  take(length_penalty, search.length_penalty);
  take(repetition_penalty, search.rules.repetition_penalty);
  take(no_repeat_ngram, search.rules.no_repeat_ngram);
  take(temperature, search.temperature);
  take(top_k, search.top_k);
  take(top_p, search.top_p);
  take(min_p, search.min_p);
  take(typical_p, search.typical_p);
  if (early_stopping) search.early_stopping = early_stopping_of(*early_stopping);
  search.seed = seed;
  search.check();
  // Reject only an explicit --min-new. If the folder's minimum exceeds the maximum, the maximum wins.
  if (min_new && search.max_new > 0 && search.rules.min_new > search.max_new)
    throw usage_error("--min-new exceeds --max-new")
        .found(std::to_string(search.rules.min_new))
        .expected("at most " + std::to_string(search.max_new));
  return search;
}

void TextFlags::add_to(infer::SearchOptions& search, const infer::LoadedModel& model) const {
  if (!stop.empty()) search.stop_strings = std::make_shared<infer::StopStrings>(model.target, stop);
  model.ban(bad_words, search.rules);
}

void add_search_flags(CLI::App& verb, SearchFlags& flags) {
  verb.add_option("--beam,-b", flags.beam, "Beam width; 1: greedy search. Default: the model folder's");
  verb.add_option(
      "--n-best", flags.n_best,
      "Number of results per line, printed as INDEX ||| TEXT ||| SCORE; with --sample independent samples");
  verb.add_option("--max-new", flags.max_new,
                  "Maximum number of generated tokens per line; 0: derived from the length of the input");
  verb.add_option("--min-new", flags.min_new, "Minimum number of generated tokens per line")
      ->check(not_negative());
  verb.add_option("--length-penalty", flags.length_penalty,
                  "Score of a hypothesis = sum of log-probabilities / tokens^PENALTY");
  verb.add_option("--early-stopping", flags.early_stopping,
                  "When beam search stops (transformers' early_stopping): no, yes, never")
      ->check(CLI::IsMember({"no", "yes", "never"}));
  verb.add_option("--repetition-penalty", flags.repetition_penalty,
                  "Penalty for tokens that occurred before; 1: none");
  verb.add_option("--no-repeat-ngram", flags.no_repeat_ngram,
                  "Never generate the same N tokens in a row twice; 0: no limit")
      ->check(not_negative());
  verb.add_flag("--sample", flags.sample, "Sample tokens instead of choosing the most probable; uses --seed");
  verb.add_option("--temperature", flags.temperature, "Divide logits by this before sampling");
  verb.add_option("--top-k", flags.top_k, "Sample from the K most probable tokens; 0: all");
  verb.add_option("--top-p", flags.top_p,
                  "Sample from the smallest set of tokens with this total probability");
  verb.add_option("--min-p", flags.min_p,
                  "Sample from tokens with at least this fraction of the highest probability");
  verb.add_option("--typical-p", flags.typical_p,
                  "Sample from the locally typical set with this total probability");
  verb.add_option("--set", flags.settings, "Override a key of generation_config.json: KEY=VALUE; repeatable")
      ->allow_extra_args(false);
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
