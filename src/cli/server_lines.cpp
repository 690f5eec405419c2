#include "cli/server_lines.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>

#include "base/json_text.h"
#include "base/line_reader.h"
#include "base/plain_text.h"
#include "cli/bad_lines.h"
#include "cli/result_output.h"
#include "cli/task_lines.h"
#include "regard/error.h"
#include "text/sentences.h"

namespace regard::cli {
namespace {

// A request is sent when it has this many lines, texts or bytes. The server decodes the texts of a request in
// one batch.
constexpr std::size_t kLines = 32, kTexts = 256, kBytes = std::size_t{1} << 18;

void write_scored(ResultOutput& output, std::int64_t index, const Json& hypotheses) {
  for (const Json& one : hypotheses)
    output.write(fmt::format("{} ||| {} ||| {:.4f}\n", index, on_one_line(one.at("text").get<std::string>()),
                             one.at("score").get<double>()));
}

// Return the hypotheses of each input. Throws Json::exception if the response is malformed.
std::vector<Json> hypotheses_of(const Json& response) {
  std::vector<Json> all = response.at("results").get<std::vector<Json>>();
  for (const Json& list : all)
    for (const Json& one : list.get_ref<const Json::array_t&>()) {
      one.at("text").get_ref<const std::string&>();
      one.at("score").get<double>();
    }
  return all;
}

class ServerLines {
 public:
  ServerLines(const ServerOptions& server, Json request, const DecodingOptions& options, Globals& globals)
      : client_(server),
        request_(std::move(request)),
        options_(options),
        json_(globals.json),
        quiet_(globals.quiet),
        typed_(options.input == "-" && ::isatty(STDIN_FILENO) != 0),
        n_best_(request_.value("n_best", std::int64_t{1})),
        bad_lines_(options.skip_bad),
        output_(options.output),
        reader_(options.input, bad_lines_.policy()) {
    catch_signals();
    reader_.end_when([] { return stop_signal() != 0; });
  }

  void run() {
    while (!ended_) {
      take_lines();
      if (stop_signal() != 0) return;
      answer();
    }
    if (failure_) std::rethrow_exception(failure_);
    output_.finish();
    client_.print_warnings();
    bad_lines_.report(quiet_);
  }

 private:
  // Text of one server input: a whole line or, with --sentences, one sentence.
  struct Part {
    std::string text, space;
    Json hypotheses = Json::array();
  };
  struct Line {
    std::string text;
    std::int64_t number = 0;
    std::vector<Part> parts;
    std::optional<Error> error;  // error of the line, if there is one
  };

  // Read the next line if it has arrived; wait only for the first line of a request. After an error of the
  // input, set failure_.
  bool next(std::string& text) {
    try {
      if (!lines_.empty() && !reader_.ready()) return false;
      ended_ = !reader_.next(text);
    } catch (...) {
      failure_ = std::current_exception();
      ended_ = true;
    }
    return !ended_;
  }

  void take_lines() {
    std::size_t texts = 0, bytes = 0;
    while (lines_.size() < kLines && texts < kTexts && bytes < kBytes) {
      std::string text;
      if (!next(text)) return;
      Line& line = lines_.emplace_back();
      line.text = std::move(text), line.number = reader_.line_number();
      try {
        BadLines::check(reader_);
        split(line);
      } catch (const Error& error) {
        line.error = error;
        line.parts.clear();
        return;  // process the preceding lines first
      }
      texts += line.parts.size(), bytes += line.text.size();
    }
  }

  void split(Line& line) const {
    if (is_blank(line.text)) return;
    if (!options_.sentences) return line.parts.push_back({line.text, ""});
    for (const text::Sentence& one : text::split_sentences(line.text))
      line.parts.push_back({std::string(one.text), std::string(one.space)});
  }

  void answer() {
    try {
      ask(lines_);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::invalid_input) throw;
      // The server refused one of the lines. Send each line in a separate request, so that the results of the
      // lines before the refused one are written.
      for (Line& line : lines_) ask_alone(line);
    }
    for (Line& line : lines_) write(line);
    output_.flush();
    lines_.clear();
  }

  void ask_alone(Line& line) {
    if (line.error) return;
    try {
      ask({&line, 1});
    } catch (Error& error) {
      error.at({reader_.name(), line.number, -1});
      line.error = error;
    }
  }

  void ask(std::span<Line> lines) {
    std::vector<Part*> asked;
    for (Line& line : lines)
      for (Part& part : line.parts) asked.push_back(&part);
    for (std::size_t first = 0; first < asked.size(); first += kTexts) {
      const std::size_t count = std::min(kTexts, asked.size() - first);
      request_["inputs"] = Json::array();
      for (std::size_t i = 0; i < count; ++i) request_["inputs"].push_back(asked[first + i]->text);
      std::vector<Json> results = client_.post("/generate", request_, hypotheses_of);
      if (results.size() != count) throw client_.malformed();
      for (std::size_t i = 0; i < count; ++i) asked[first + i]->hypotheses = std::move(results[i]);
    }
    // Remove texts without tokens, as decoding without a server does.
    for (Line& line : lines)
      std::erase_if(line.parts, [](const Part& part) { return part.hypotheses.empty(); });
  }

  void write(const Line& line) {
    if (line.error) {
      if (!bad_lines_.skips(*line.error)) {
        output_.flush();
        throw Error(*line.error);
      }
      output_.write(skipped_result(json_, line.number, *line.error));
    } else if (json_) {
      output_.write(json_text(to_json(line)) + "\n");
    } else if (line.parts.empty()) {
      output_.write("\n");
    } else if (several(line.parts[0].hypotheses)) {
      write_scored(output_, line.number - 1, line.parts[0].hypotheses);
    } else {
      output_.write((as_is() ? text_of(line) : on_one_line(text_of(line))) + "\n");
    }
  }

  // Return true if results are printed as a list. Without --n-best, the number of results is set in the
  // model's folder on the server. --sentences prints only the best result of each sentence.
  bool several(const Json& hypotheses) const {
    return n_best_ > 1 || (!options_.sentences && hypotheses.size() > 1);
  }

  bool as_is() const {
    return options_.single_as_is && (typed_ || (ended_ && !failure_ && reader_.line_number() == 1));
  }

  static std::string text_of(const Line& line) {
    std::string text;
    for (const Part& part : line.parts) {
      text += part.hypotheses[0].at("text").get<std::string>();
      text += part.space;
    }
    return text;
  }

  Json to_json(const Line& line) const {
    Json json{{"line", line.number}, {"input", line.text}, {"output", ""}};
    if (line.parts.empty()) return json;
    json["output"] = text_of(line);
    if (options_.sentences) {
      for (const Part& part : line.parts) json["sentences"].push_back(part.hypotheses.at(0));
      return json;
    }
    json["hypotheses"] = line.parts[0].hypotheses;
    if (!json["hypotheses"].empty()) json["score"] = json["hypotheses"][0]["score"];
    return json;
  }

  HttpClient client_;
  Json request_;
  const DecodingOptions& options_;
  bool json_, quiet_, typed_;
  std::int64_t n_best_;
  BadLines bad_lines_;
  ResultOutput output_;
  LineReader reader_;
  std::vector<Line> lines_;
  bool ended_ = false;
  std::exception_ptr failure_;  // error of reading the line after `lines_`
};

}  // namespace

Json generate_request(const ServerOptions& server, const DecodingOptions& options, const Globals& globals) {
  server.exclude(!options.adapter.empty(), "--adapter");
  server.exclude(globals.int8, "--quantize");
  server.exclude(globals.bf16, "--precision");
  server.exclude(!options.probes.attend.empty(), "--attend");
  server.exclude(!options.probes.ablate.empty(), "--ablate");
  server.exclude(!options.search.settings.empty(), "--set");
  if (options.log_probabilities && !globals.json)
    throw usage_error("--log-probabilities needs --json").remedy("Add --json");
  if (options.sentences && options.search.n_best.value_or(1) > 1)
    throw usage_error("--sentences cannot be combined with --n-best")
        .remedy("Remove --n-best or --sentences");
  Json request{{"model", options.model}, {"seed", globals.seed}};
  infer::SearchOverrides::for_each(options.search, [&](const char* name, const auto& member) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>, bool>) {
      if (member) request[name] = true;
    } else {
      if (member) request[name] = *member;
    }
  });
  if (!options.text.stop.empty()) request["stop"] = options.text.stop;
  if (!options.text.bad_words.empty()) request["bad_words"] = options.text.bad_words;
  if (options.truncate) request["truncate"] = true;
  if (options.log_probabilities) request["log_probabilities"] = true;
  if (!options.probes.interventions.empty()) request["interventions"] = options.probes.interventions;
  return request;
}

void decode_lines_at(const ServerOptions& server, Json request, const DecodingOptions& options,
                     Globals& globals) {
  ServerLines(server, std::move(request), options, globals).run();
}

void generate_one_at(const ServerOptions& server, const Json& request, const std::string& shown,
                     const DecodingOptions& options, Globals& globals) {
  catch_signals();
  ResultOutput output(options.output);
  HttpClient client(server);
  const auto [results, continues] = client.post("/generate", request, [](const Json& response) {
    return std::pair(hypotheses_of(response), response.value("continuation", true));
  });
  if (results.size() != 1) throw client.malformed();
  const Json& list = results[0];
  if (list.empty())
    throw input_error("the prompt has no tokens").remedy("Give a prompt of at least one character");
  if (globals.json)
    output.write(json_text(Json{
                     {"output", list[0].at("text")}, {"score", list[0].at("score")}, {"hypotheses", list}}) +
                 "\n");
  else if (request.value("n_best", 1) > 1 || list.size() > 1)
    write_scored(output, 0, list);
  else
    output.write((continues ? shown : "") + list[0].at("text").get<std::string>() + "\n");
  output.finish();
  client.print_warnings();
}

}  // namespace regard::cli
