#include "cli/decode_lines.h"

#include <fmt/format.h>

#include <cstdio>
#include <deque>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/line_reader.h"
#include "cli/kept.h"
#include "infer/scheduler.h"
#include "regard/error.h"

namespace regard::cli {
namespace {

using infer::Hypothesis;

// Lines that are read ahead of the one that is written next.
constexpr std::size_t kLinesAhead = 4096;

// A result is one line, whatever the text holds.
std::string on_one_line(const std::string& text) {
  std::string line;
  for (const char letter : text) {
    if (letter == '\n')
      line += "\\n";
    else if (letter == '\r')
      line += "\\r";
    else
      line += letter;
  }
  return line;
}

bool blank(const std::string& line) {
  return line.find_first_not_of(" \t") == std::string::npos;
}

class LineDecoder : public infer::Listener {
 public:
  LineDecoder(const infer::LoadedModel& model, const infer::SearchOptions& search, const std::string& input,
              Globals& globals)
      : model_(model),
        search_(search),
        json_(globals.json),
        reader_(input, BadUtf8::refuse),
        scheduler_(*model.model, globals.pool(), search, *this) {
    catch_signals();
    reader_.end_when([] { return stop_signal() != 0; });
  }

  void run() {
    while (stop_signal() == 0) {
      take_lines();
      const bool worked = scheduler_.step();
      write_finished();
      if (!worked && ended_) break;
    }
    if (failure_) std::rethrow_exception(failure_);
  }

  void finished(std::uint64_t id, std::vector<Hypothesis> hypotheses) override {
    Line& line = lines_[static_cast<std::size_t>(id - first_)];
    line.hypotheses = std::move(hypotheses);
    line.done = true;
  }

 private:
  struct Line {
    std::string text;
    std::vector<Hypothesis> hypotheses;
    bool done = false;
  };

  // Waits for a line only where nothing else is to be done.
  void take_lines() {
    while (!ended_ && lines_.size() < kLinesAhead && (lines_.empty() || reader_.ready())) {
      try {
        take_line();
      } catch (...) {
        failure_ = std::current_exception();
        ended_ = true;
      }
      if (!lines_.empty() && lines_.front().done) return;  // an empty line is answered at once
    }
  }

  void take_line() {
    std::string text;
    if (!reader_.next(text)) {
      ended_ = true;
      return;
    }
    infer::Request request;
    request.id = first_ + lines_.size();
    const bool translates = model_.model->kind() == ModelKind::encoder_decoder;
    std::vector<std::int32_t>& ids = translates ? request.source : request.prompt;
    if (!blank(text)) ids = translates ? model_.encode_source(text) : model_.encode_prompt(text);
    const bool nothing = ids.empty();
    check_length(ids.size());
    if (!nothing) scheduler_.submit(std::move(request));
    lines_.push_back({std::move(text), {}, nothing});
  }

  void check_length(std::size_t tokens) const {
    const std::int64_t limit = model_.model->max_positions();
    if (limit <= 0 || static_cast<std::int64_t>(tokens) <= limit) return;
    throw Error(ErrorKind::bad_file, "the line is too long for the model")
        .at({reader_.name(), reader_.line_number(), -1})
        .found(fmt::format("{} tokens", tokens))
        .expected(fmt::format("at most {}", limit))
        .remedy("split it into sentences");
  }

  void write_finished() {
    bool any = false;
    for (; !lines_.empty() && lines_.front().done; any = true) {
      write(first_++, lines_.front());
      lines_.pop_front();
    }
    if (any) std::fflush(stdout);
  }

  void write(std::uint64_t index, const Line& line) const {
    if (json_) {
      fmt::print("{}\n", to_json(index, line).dump(-1, ' ', false, Json::error_handler_t::replace));
    } else if (line.hypotheses.empty()) {
      fmt::print("\n");
    } else if (search_.n_best == 1) {
      fmt::print("{}\n", on_one_line(model_.decode(line.hypotheses[0])));
    } else {
      for (const Hypothesis& one : line.hypotheses)
        fmt::print("{} ||| {} ||| {:.4f}\n", index, on_one_line(model_.decode(one)), one.score);
    }
  }

  Json to_json(std::uint64_t index, const Line& line) const {
    Json json{{"line", index + 1}, {"input", line.text}, {"output", ""}};
    if (line.hypotheses.empty()) return json;
    json["output"] = model_.decode(line.hypotheses[0]);
    json["score"] = line.hypotheses[0].score;
    json["hypotheses"] = Json::array();
    for (const Hypothesis& one : line.hypotheses)
      json["hypotheses"].push_back({{"text", model_.decode(one)},
                                    {"score", one.score},
                                    {"log_probability", one.log_probability},
                                    {"tokens", one.tokens.size()},
                                    {"ended", one.ended}});
    return json;
  }

  const infer::LoadedModel& model_;
  const infer::SearchOptions& search_;
  bool json_;
  LineReader reader_;
  infer::Scheduler scheduler_;
  std::deque<Line> lines_;   // not yet written
  std::uint64_t first_ = 0;  // the index of lines_.front(), from 0
  bool ended_ = false;
  std::exception_ptr failure_;
};

infer::EarlyStopping early_stopping_of(const std::string& name) {
  if (name == "yes") return infer::EarlyStopping::yes;
  return name == "never" ? infer::EarlyStopping::never : infer::EarlyStopping::no;
}

}  // namespace

infer::SearchOptions DecodingOptions::over(infer::SearchOptions search, std::uint64_t seed) const {
  if (sample || temperature || top_k || top_p || min_p) {
    search.sample = true;
    search.beam = 1;
  }
  if (beam) {
    search.beam = *beam;
    search.sample = sample;
    if (!sample) search.n_best = std::min(search.n_best, search.beam);
  }
  if (n_best) search.n_best = *n_best;
  if (!search.sample && !beam) search.beam = std::max(search.beam, search.n_best);
  if (max_new) search.max_new = *max_new;
  if (length_penalty) search.length_penalty = *length_penalty;
  if (temperature) search.temperature = *temperature;
  if (top_k) search.top_k = *top_k;
  if (top_p) search.top_p = *top_p;
  if (min_p) search.min_p = *min_p;
  if (early_stopping) search.early_stopping = early_stopping_of(*early_stopping);
  search.seed = seed;
  search.check();
  return search;
}

void add_search_options(CLI::App& verb, DecodingOptions& options) {
  verb.add_option("--beam,-b", options.beam, "Width of the beam; 1: greedy (default: the model folder's)");
  verb.add_option("--n-best", options.n_best, "Hypotheses a line, as INDEX ||| TEXT ||| SCORE");
  verb.add_option("--max-new", options.max_new, "Tokens at most a line; 0: by the length of the input");
  verb.add_option("--length-penalty", options.length_penalty, "Score = sum of log p / tokens^PENALTY");
  verb.add_option("--early-stopping", options.early_stopping, "When a beam search stops: no, yes, never")
      ->check(CLI::IsMember({"no", "yes", "never"}));
  verb.add_flag("--sample", options.sample, "Draw instead of taking the best; keyed by --seed");
  verb.add_option("--temperature", options.temperature, "Scores are divided by it before drawing");
  verb.add_option("--top-k", options.top_k, "Draw from the k best tokens; 0: all");
  verb.add_option("--top-p", options.top_p, "Draw from the smallest set of this probability");
  verb.add_option("--min-p", options.min_p, "Draw from tokens of at least this share of the best one's");
}

void add_decoding_options(CLI::App& verb, DecodingOptions& options) {
  verb.add_option("MODEL", options.model, "A run folder, a checkpoint of one, or a Hugging Face folder")
      ->required();
  verb.add_option("--input,-i", options.input, "A file of lines; -: standard input")->capture_default_str();
  add_search_options(verb, options);
}

infer::LoadedModel open_for(ModelKind kind, const char* verb, const std::string& path, Globals& globals) {
  infer::LoadedModel loaded = infer::LoadedModel::open(path, kept(globals));
  if (!loaded.warning.empty() && !globals.quiet) fmt::print(stderr, "regard: {}\n", loaded.warning);
  if (loaded.model->kind() != kind)
    throw usage_error(fmt::format("this model does not {}", verb))
        .at({path, -1, -1})
        .found(loaded.model->kind() == ModelKind::encoder           ? "an encoder"
               : loaded.model->kind() == ModelKind::encoder_decoder ? "an encoder-decoder"
                                                                    : "a decoder alone")
        .expected(kind == ModelKind::encoder_decoder ? "an encoder-decoder" : "a decoder alone")
        .remedy(loaded.model->kind() == ModelKind::encoder_decoder ? "use regard translate"
                : loaded.model->kind() == ModelKind::decoder       ? "use regard generate"
                                                                   : "");
  loaded.model->prepare_for_inference(globals.pool());
  return loaded;
}

void decode_lines(const infer::LoadedModel& model, const infer::SearchOptions& search,
                  const std::string& input, Globals& globals) {
  LineDecoder(model, search, input, globals).run();
}

}  // namespace regard::cli
