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
      throw usage_error("--set takes KEY=VALUE").found("\"" + setting + "\"");
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
    throw usage_error("more new tokens are wanted at least than at most")
        .found(std::to_string(search.rules.min_new))
        .expected("at most " + std::to_string(search.max_new));
  return search;
}

void TextFlags::add_to(infer::SearchOptions& search, const infer::LoadedModel& model) const {
  if (!stop.empty()) search.stop_strings = std::make_shared<infer::StopStrings>(model.target, stop);
  model.ban(bad_words, search.rules);
}

void add_search_flags(CLI::App& verb, SearchFlags& flags) {
  verb.add_option("--beam,-b", flags.beam, "Width of the beam; 1: greedy (default: the model folder's)");
  verb.add_option("--n-best", flags.n_best,
                  "Hypotheses a line, as INDEX ||| TEXT ||| SCORE; draws if --sample");
  verb.add_option("--max-new", flags.max_new, "Tokens at most a line; 0: by the length of the input");
  verb.add_option("--min-new", flags.min_new, "Tokens at least a line")->check(not_negative());
  verb.add_option("--length-penalty", flags.length_penalty, "Score = sum of log p / tokens^PENALTY");
  verb.add_option("--early-stopping", flags.early_stopping, "When a beam search stops: no, yes, never")
      ->check(CLI::IsMember({"no", "yes", "never"}));
  verb.add_option("--repetition-penalty", flags.repetition_penalty,
                  "Above 1: tokens that were there become less likely");
  verb.add_option("--no-repeat-ngram", flags.no_repeat_ngram, "No N tokens in a row come twice; 0: they may")
      ->check(not_negative());
  verb.add_flag("--sample", flags.sample, "Draw instead of taking the best; keyed by --seed");
  verb.add_option("--temperature", flags.temperature, "Scores are divided by it before drawing");
  verb.add_option("--top-k", flags.top_k, "Draw from the k best tokens; 0: all");
  verb.add_option("--top-p", flags.top_p, "Draw from the smallest set of this probability");
  verb.add_option("--min-p", flags.min_p, "Draw from tokens of at least this share of the best one's");
  verb.add_option("--typical-p", flags.typical_p, "Draw from the most typical set of this probability");
  verb.add_option("--set", flags.settings,
                  "A key of generation_config.json with another value: KEY=VALUE; may be given again")
      ->allow_extra_args(false);
}

void add_text_flags(CLI::App& verb, TextFlags& flags) {
  verb.add_option("--stop", flags.stop, "End before this text; may be given again")
      ->allow_extra_args(false)
      ->check(valid_text());
  verb.add_option("--bad-word", flags.bad_words, "Never write this word; may be given again")
      ->allow_extra_args(false)
      ->check(valid_text());
}

}  // namespace regard::cli
