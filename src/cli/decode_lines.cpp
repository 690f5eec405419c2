#include "cli/decode_lines.h"

#include <fmt/format.h>

#include <unistd.h>
#include <cstdio>
#include <deque>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/counted.h"
#include "base/json_text.h"
#include "base/line_reader.h"
#include "base/plain_text.h"
#include "cli/adapter.h"
#include "cli/bad_lines.h"
#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/task_lines.h"
#include "cli/text_argument.h"
#include "cli/unseen_words.h"
#include "cli/weight_mode.h"
#include "infer/hypothesis_json.h"
#include "infer/scheduler.h"
#include "regard/error.h"
#include "text/sentences.h"

namespace regard::cli {
namespace {

using infer::Hypothesis;

// Maximum number of lines read but not yet written.
constexpr std::size_t kLinesAhead = 4096;

class LineDecoder : public infer::Listener {
 public:
  LineDecoder(const infer::LoadedModel& model, const infer::SearchOptions& search,
              const DecodingOptions& options, ModelProbes& probes, Globals& globals)
      : model_(model),
        search_(search),
        options_(options),
        probes_(probes),
        pool_(globals.pool()),
        json_(globals.json),
        quiet_(globals.quiet),
        typed_(options.input == "-" && ::isatty(STDIN_FILENO) != 0),
        bad_lines_(options.skip_bad),
        unseen_words_(options.model, *model.source, globals.quiet),
        output_(options.output),
        reader_(options.input, bad_lines_.policy()),
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
    if (stop_signal() != 0) return;
    output_.finish();
    probes_.finish();
    bad_lines_.report(quiet_);
  }

  // A request id is the line index << kPartBits | index in Line::parts.
  void finished(std::uint64_t id, std::vector<Hypothesis> hypotheses) override {
    Line& line = lines_[static_cast<std::size_t>((id >> kPartBits) - first_)];
    line.parts[id & kPartMask].hypotheses = std::move(hypotheses);
    --line.open;
  }

 private:
  static constexpr int kPartBits = 24;
  static constexpr std::uint64_t kPartMask = (std::uint64_t{1} << kPartBits) - 1;

  // A line; with --sentences, one sentence of a line.
  struct Part {
    std::string space;  // white space after this text in the line
    std::vector<std::int32_t> prompt;
    AttendedInput attended;  // argument of attend_written(); set only with --attend
    std::vector<Hypothesis> hypotheses;
  };
  struct Line {
    std::string text;
    std::vector<Part> parts;
    UnseenWords::Report words;
    std::size_t open = 0;          // number of elements of `parts` not decoded yet
    std::optional<Error> skipped;  // error of the line if it was skipped

    bool done() const { return open == 0; }
  };

  // Read the input lines that have arrived, until `lines_` contains kLinesAhead lines or its first line can
  // be written. Wait for input only if `lines_` is empty.
  void take_lines() {
    while (!ended_ && lines_.size() < kLinesAhead) {
      try {
        if (!lines_.empty() && !reader_.ready()) return;
        take_line();
      } catch (...) {
        failure_ = std::current_exception();
        ended_ = true;
      }
      // an empty or skipped line needs no decoding: its result can be written now
      if (!lines_.empty() && lines_.front().done()) return;
    }
  }

  void take_line() {
    std::string text;
    if (!reader_.next(text)) {
      ended_ = true;
      return;
    }
    Line line;
    line.text = std::move(text);
    std::vector<infer::Request> requests;
    try {
      BadLines::check(reader_);
      requests = requests_of(line);
    } catch (const Error& error) {
      if (!bad_lines_.skips(error)) throw;
      line.skipped = error;
      line.parts.clear();
      requests.clear();
    }
    if (!line.skipped) line.words = unseen_words_.of(line.text);
    line.open = requests.size();
    lines_.push_back(std::move(line));
    for (infer::Request& request : requests) scheduler_.submit(std::move(request));
  }

  std::vector<infer::Request> requests_of(Line& line) {
    std::vector<infer::Request> requests;
    if (is_blank(model_.as_trained(line.text))) return requests;
    const std::vector<text::Sentence> sentences =
        options_.sentences ? text::split_sentences(line.text)
                           : std::vector<text::Sentence>{{line.text, std::string_view()}};
    if (sentences.size() > kPartMask)
      throw Error(ErrorKind::invalid_input, "the line has too many sentences", place())
          .found(counted(sentences.size(), "sentence"))
          .expected(fmt::format("at most {} sentences", kPartMask));
    for (const text::Sentence& sentence : sentences) {
      const std::string given = options_.before + std::string(sentence.text);
      ModelInput input = read_at(model_, given, options_.truncate, place());
      if (input.empty()) continue;
      const std::uint64_t id = (first_ + lines_.size()) << kPartBits | line.parts.size();
      Part& part = line.parts.emplace_back();
      part.space = sentence.space;
      if (probes_.attends()) part.attended = {given, input};
      requests.push_back(infer::request_of(*model_.model, std::move(input), id));
      part.prompt = requests.back().prompt;
    }
    return requests;
  }

  Place place() const { return {reader_.name(), reader_.line_number(), -1}; }

  void write_finished() {
    bool any = false;
    for (; !lines_.empty() && lines_.front().done(); any = true) {
      write(first_++, lines_.front());
      attend(lines_.front());
      lines_.pop_front();
    }
    if (any) output_.flush();
  }

  void write(std::uint64_t index, const Line& line) {
    if (line.skipped)
      output_.write(skipped_result(json_, static_cast<std::int64_t>(index) + 1, *line.skipped));
    else if (json_)
      output_.write(json_text(to_json(index, line)) + "\n");
    else if (line.parts.empty())
      output_.write("\n");
    else if (search_.n_best == 1)
      output_.write((as_is() ? text_of(line) : on_one_line(text_of(line))) + "\n");
    else
      for (const Hypothesis& one : line.parts[0].hypotheses)
        output_.write(fmt::format("{} ||| {} ||| {:.4f}\n", index, on_one_line(text_of(line.parts[0], one)),
                                  one.score));
  }

  // Return true if line ends in results are not escaped, because the input was typed on a terminal or is a
  // single line. In these cases, lines of the output need not correspond to lines of the input.
  bool as_is() const {
    return options_.single_as_is && (typed_ || (ended_ && !failure_ && reader_.line_number() == 1));
  }

  void attend(const Line& line) {
    if (!probes_.attends()) return;
    if (line.parts.empty()) probes_.write_nothing();
    for (const Part& part : line.parts)
      attend_written(probes_, model_, pool_, options_.model, part.attended,
                     part.hypotheses.empty() ? std::vector<std::int32_t>() : part.hypotheses[0].tokens);
  }

  std::string text_of(const Part& part, const Hypothesis& hypothesis) const {
    return model_.written(hypothesis, search_, part.prompt);
  }
  // Return the best hypothesis of each part, joined by the white space of the input line.
  std::string text_of(const Line& line) const {
    std::string text;
    for (const Part& part : line.parts) {
      if (!part.hypotheses.empty()) text += text_of(part, part.hypotheses[0]);
      text += part.space;
    }
    return text;
  }

  Json to_json(std::uint64_t index, const Line& line) const {
    Json json{{"line", index + 1}, {"input", line.text}, {"output", ""}};
    if (!line.words.unseen.empty()) json["not_seen_in_training"] = line.words.unseen;
    if (!line.words.other_case.empty()) json["seen_in_other_case"] = line.words.other_case;
    if (line.parts.empty()) return json;
    json["output"] = text_of(line);
    if (options_.sentences) {
      for (const Part& part : line.parts) json["sentences"].push_back(hypotheses_json(part)[0]);
      return json;
    }
    json["hypotheses"] = hypotheses_json(line.parts[0]);
    if (!json["hypotheses"].empty()) json["score"] = json["hypotheses"][0]["score"];
    return json;
  }

  Json hypotheses_json(const Part& part) const {
    Json list = Json::array();
    for (const Hypothesis& one : part.hypotheses)
      list.push_back(infer::hypothesis_json(model_, one, text_of(part, one), options_.log_probabilities));
    return list;
  }

  const infer::LoadedModel& model_;
  const infer::SearchOptions& search_;
  const DecodingOptions& options_;
  ModelProbes& probes_;
  ThreadPool& pool_;
  bool json_, quiet_, typed_;
  BadLines bad_lines_;
  UnseenWords unseen_words_;
  ResultOutput output_;
  LineReader reader_;
  infer::Scheduler scheduler_;
  std::deque<Line> lines_;   // lines that are being decoded or not yet written
  std::uint64_t first_ = 0;  // index of lines_.front() in the input, counted from 0
  bool ended_ = false;
  std::exception_ptr failure_;
};

}  // namespace

void add_decoding_options(CLI::App& verb, DecodingOptions& options) {
  add_model_argument(verb, options.model, "Run folder, checkpoint folder or Hugging Face folder");
  verb.add_option("FILE,-i,--input", options.input, "Input file, one text per line; - is standard input")
      ->capture_default_str()
      ->check(not_empty());
  verb.add_option(
          "--output,-o", options.output,
          "Write the results to this file; it is created or replaced when they are complete. Default: "
          "standard output")
      ->check(not_empty());
  add_skip_bad(verb, options.skip_bad);
  add_search_flags(verb, options.search);
  add_text_flags(verb, options.text);
  add_adapter(verb, options.adapter);
  add_probe_options(verb, options.probes);
  verb.add_flag("--log-probabilities", options.log_probabilities,
                "Add the log-probability of each token; needs --json");
  verb.add_flag("--truncate", options.truncate,
                "Truncate inputs to the model's maximum number of positions. Default: report an error");
}

infer::LoadedModel open_for(const DecodingOptions& options, const std::string& task, Globals& globals) {
  if (options.log_probabilities && !globals.json)
    throw usage_error("--log-probabilities needs --json").remedy("Add --json");
  if (options.sentences && options.search.n_best.value_or(1) > 1)
    throw usage_error("--sentences cannot be combined with --n-best")
        .remedy("Remove --n-best or --sentences");
  infer::LoadedModel loaded =
      infer::LoadedModel::open(options.model, {.values = options.search.settings_object(),
                                               .task = task,
                                               .weight_mode = weight_mode(globals),
                                               .adapter = options.adapter});
  print_warning(loaded.warning);
  if (loaded.model->kind() == ModelKind::encoder)
    throw usage_error("this model cannot generate text: it has no decoder")
        .at({options.model, -1, -1})
        .expected("a decoder or an encoder-decoder");
  loaded.model->prepare_for_inference(globals.pool());
  return loaded;
}

infer::SearchOptions search_of(const DecodingOptions& options, const infer::LoadedModel& model,
                               const Globals& globals) {
  infer::SearchOptions search = options.search.over(model.options, globals.seed);
  options.text.add_to(search, model);
  // The folder may set several results. The results of a line's sentences are joined, so only the best result
  // of each sentence is used.
  if (options.sentences) search.n_best = 1;
  return search;
}

ModelInput read_at(const infer::LoadedModel& model, std::string_view text, bool truncate,
                   const Place& place) {
  try {
    return model.read(text, truncate);
  } catch (Error& error) {
    error.at(place);
    throw;
  }
}

void decode_lines(const infer::LoadedModel& model, const infer::SearchOptions& search,
                  const DecodingOptions& options, Globals& globals) {
  ModelProbes probes(options.probes, model, globals.pool());
  infer::SearchOptions probed = search;
  probed.probe = probes.probe();
  LineDecoder(model, probed, options, probes, globals).run();
}

}  // namespace regard::cli
