// regard tokenizer encode|decode|info: text to ids and back, and what a tokenizer is.
#include "cli/tokenizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/json.h"
#include "base/line_reader.h"
#include "base/progress.h"
#include "cli/output.h"
#include "text/tokenizer.h"
#include "text/visible.h"

namespace regard::cli {
namespace {

using text::Encoding;
using text::Tokenizer;

constexpr std::size_t kBatchLines = 4096;
constexpr int kStandardOutput = 1;

struct Options {
  std::string tokenizer, input = "-", format = "text", view = "auto";
  std::size_t nbest = 0;
  bool no_special = false, plain_text = false, keep_special = false;
};

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json pairs(const std::vector<text::Offsets>& offsets) {
  Json list = Json::array();
  for (const text::Offsets& place : offsets) list.push_back({place.begin, place.end});
  return list;
}

Json to_json(const Encoding& encoding) {
  Json json{{"ids", encoding.ids},
            {"tokens", encoding.tokens},
            {"offsets", pairs(encoding.offsets)},
            {"byte_offsets", pairs(encoding.byte_offsets)},
            {"type_ids", encoding.type_ids},
            {"special_tokens_mask", encoding.special_mask},
            {"attention_mask", encoding.attention_mask}};
  if (!encoding.overflowing.empty()) {
    json["overflowing"] = Json::array();
    for (const Encoding& part : encoding.overflowing) json["overflowing"].push_back(to_json(part));
  }
  return json;
}

std::string joined(const std::vector<std::int32_t>& ids) {
  return fmt::format("{}\n", fmt::join(ids, " "));
}

// The best ways to cut a line: a line of score and ids each, or all of them in one of JSON.
std::string ways_of(const Tokenizer& tokenizer, const std::string& line, const Options& options,
                    bool as_json) {
  std::string lines;
  Json all = Json::array();
  for (const auto& way : tokenizer.encode_nbest(line, options.nbest, !options.plain_text)) {
    all.push_back({{"score", way.score}, {"ids", way.ids}});
    lines += fmt::format("{:.4f}\t{}", way.score, joined(way.ids));
  }
  return as_json ? line_of({{"ways", all}}) : lines;
}

// Reads what has arrived, at most a batch, and hands it to `work(line, number)`, which returns what to print;
// results keep the order of the lines.
template <class Work>
void over_lines(Globals& globals, const std::string& input, Work work) {
  LineReader reader(input, BadUtf8::keep);
  std::vector<std::string> lines, results;
  std::string line;
  while (reader.next(line)) {
    const std::int64_t first = reader.line_number();
    lines.assign(1, line);
    while (lines.size() < kBatchLines && reader.ready() && reader.next(line)) lines.push_back(line);
    results.assign(lines.size(), {});
    globals.pool().parallel_for(static_cast<std::int64_t>(lines.size()), [&](std::int64_t i, int) {
      const auto place = static_cast<std::size_t>(i);
      results[place] = work(lines[place], first + i);
    });
    for (const std::string& result : results) write_result(result);
    flush_results();
  }
}

void encode(Globals& globals, const Options& options) {
  const auto tokenizer = Tokenizer::load(options.tokenizer);
  const text::EncodeOptions how{!options.no_special, !options.plain_text};
  const bool colour = colour_allowed(kStandardOutput);
  const bool pieces = options.view == "pieces" || (options.view == "auto" && colour);
  const int columns = terminal_columns(kStandardOutput);
  // Ids alone need no offsets, unless the file asks for a length.
  const bool quick = !pieces && !globals.json && (options.view == "ids" || options.format == "text") &&
                     !tokenizer->truncation() && !tokenizer->padding();
  over_lines(globals, options.input, [&](const std::string& line, std::int64_t number) {
    if (options.nbest > 0) return ways_of(*tokenizer, line, options, globals.json);
    if (quick && options.format == "text") return joined(tokenizer->encode_ids(line, how));
    if (options.format == "jsonl") {
      const std::string place = fmt::format("{}:{}", options.input, number);
      const Json json = parse_json(line, place);
      const auto first = require<std::string>(json, "text", place);
      const auto second = optional_value<std::string>(json, "pair", place);
      if (quick && !second) return joined(tokenizer->encode_ids(first, how));
      return line_of(
          to_json(second ? tokenizer->encode_pair(first, *second, how) : tokenizer->encode(first, how)));
    }
    const Encoding encoding = tokenizer->encode(line, how);
    if (globals.json) return line_of(to_json(encoding));
    if (pieces) return text::pieces_view(*tokenizer, encoding.ids, columns, colour);
    return joined(encoding.ids);
  });
}

// Ids as numbers with spaces or commas between them, as a JSON array, or as an object with "ids".
std::vector<std::int32_t> read_ids(const std::string& line, const std::string& place) {
  if (line.starts_with('{')) return require<std::vector<std::int32_t>>(parse_json(line, place), "ids", place);
  if (line.starts_with('[')) return json_as<std::vector<std::int32_t>>(parse_json(line, place), "ids", place);
  std::vector<std::int32_t> ids;
  const char* at = line.c_str();
  while (*at != '\0') {
    if (*at == ' ' || *at == ',' || *at == '\t') {
      ++at;
      continue;
    }
    char* end = nullptr;
    errno = 0;
    const long value = std::strtol(at, &end, 10);
    if (end == at || errno != 0 || !std::in_range<std::int32_t>(value))
      throw file_error(place, "not a token id")
          .found(std::string(at, std::min<std::size_t>(20, std::strlen(at))));
    ids.push_back(static_cast<std::int32_t>(value));
    at = end;
  }
  return ids;
}

void decode(Globals& globals, const Options& options) {
  const auto tokenizer = Tokenizer::load(options.tokenizer);
  over_lines(globals, options.input, [&](const std::string& line, std::int64_t number) {
    const auto ids = read_ids(line, fmt::format("{}:{}", options.input, number));
    for (const std::int32_t id : ids)
      if (id < 0 || id >= tokenizer->vocabulary_size())
        throw file_error(fmt::format("{}:{}", options.input, number), "an id is not in the vocabulary")
            .found(std::to_string(id))
            .expected(fmt::format("0 to {}", tokenizer->vocabulary_size() - 1));
    std::string text = tokenizer->decode(ids, !options.keep_special);
    return globals.json ? line_of({{"text", text}}) : text + "\n";
  });
}

std::string type_of(const Json& component) {
  if (component.is_null()) return "none";
  const std::string type = component.value("type", "?");
  for (const char* key : {"normalizers", "pretokenizers", "processors", "decoders"}) {
    if (!component.contains(key)) continue;
    std::vector<std::string> parts;
    for (const Json& part : component.at(key)) parts.push_back(type_of(part));
    return fmt::format("{}", fmt::join(parts, " → "));
  }
  return type;
}

void show(Globals& globals, const Options& options) {
  const auto tokenizer = Tokenizer::load(options.tokenizer);
  const Json& description = tokenizer->description();
  Json info{{"model", tokenizer->model_type()},
            {"vocabulary_size", tokenizer->vocabulary_size()},
            {"tokens", tokenizer->token_count()}};
  for (const char* key : {"normalizer", "pre_tokenizer", "post_processor", "decoder"})
    info[key] = description.contains(key) ? type_of(description.at(key)) : "none";
  Json special = Json::object();
  if (description.contains("added_tokens"))
    for (const Json& token : description.at("added_tokens"))
      if (token.value("special", false)) special[token.at("content").get<std::string>()] = token.at("id");
  info["special_tokens"] = special;
  if (globals.json) {
    write_result(line_of(info));
    return;
  }
  for (const auto& [key, value] : info.items()) {
    if (key != "special_tokens")
      print_result("{:<16}  {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  }
  for (const auto& [token, id] : special.items())
    print_result("{:<16}  {} = {}\n", "special token", text::make_visible(token), id.dump());
}

void add_tokenizer_option(CLI::App& verb, Options& options) {
  verb.add_option("-T,--tokenizer", options.tokenizer, "A tokenizer file, or the folder of a model")
      ->required();
}

}  // namespace

void add_tokenizer(CLI::App& app, Globals& globals) {
  CLI::App* verb = app.add_subcommand("tokenizer", "Text to ids and back, with any tokenizer; train one");
  verb->require_subcommand(1);
  const auto options = std::make_shared<Options>();

  CLI::App* encoding = verb->add_subcommand("encode", "Ids of each line of text");
  add_globals(*encoding, globals);
  add_tokenizer_option(*encoding, *options);
  encoding->add_option("--input-format", options->format, "text, or jsonl with {\"text\": …, \"pair\": …}")
      ->check(CLI::IsMember({"text", "jsonl"}))
      ->capture_default_str();
  encoding
      ->add_option("--view", options->view,
                   "ids, pieces (with ids underneath), or auto: pieces on a terminal")
      ->check(CLI::IsMember({"auto", "ids", "pieces"}))
      ->capture_default_str();
  encoding
      ->add_option("--nbest", options->nbest,
                   "The best N ways to cut each line (unigram models), each with its score")
      ->check(CLI::Range(1, 1024));
  encoding->add_flag("--no-special", options->no_special, "Add no special tokens");
  encoding->add_flag("--plain-text", options->plain_text, "Special tokens spelt in the text are text");
  encoding->add_option("FILE", options->input, "The text; - is standard input")->capture_default_str();
  encoding->callback([&globals, options] { encode(globals, *options); });

  CLI::App* decoding = verb->add_subcommand("decode", "Text of each line of ids");
  add_globals(*decoding, globals);
  add_tokenizer_option(*decoding, *options);
  decoding->add_flag("--keep-special", options->keep_special, "Spell special tokens out");
  decoding->add_option("FILE", options->input, "The ids; - is standard input")->capture_default_str();
  decoding->callback([&globals, options] { decode(globals, *options); });

  CLI::App* info = verb->add_subcommand("info", "What a tokenizer is made of");
  add_globals(*info, globals);
  info->add_option("TOKENIZER", options->tokenizer, "A tokenizer file, or the folder of a model")->required();
  info->callback([&globals, options] { show(globals, *options); });

  add_tokenizer_train(*verb, globals);
}

}  // namespace regard::cli
