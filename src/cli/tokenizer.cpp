// regard tokenizer encode|decode|info: encode text to ids, decode ids, describe a tokenizer.
#include "cli/tokenizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>

#include "base/json.h"
#include "base/json_text.h"
#include "base/line_reader.h"
#include "base/parse_number.h"
#include "base/progress.h"
#include "cli/bad_lines.h"
#include "cli/output.h"
#include "cli/text_argument.h"
#include "text/tokenizer.h"
#include "text/visible.h"

namespace regard::cli {
namespace {

using text::Encoding;
using text::Tokenizer;

constexpr std::size_t kBatchLines = 4096;
constexpr int kStandardOutput = 1;

struct TokenizerOptions {
  std::string tokenizer, input = "-", format = "text", view = "auto";
  std::size_t nbest = 0;
  bool skip_bad = false;
  bool no_special = false, plain_text = false, keep_special = false;
};

std::string line_of(const Json& json) {
  return json_text(json) + "\n";
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

// Return the n best segmentations of a line: as text, one line "SCORE<tab>IDS" per segmentation; as JSON, one
// line with all segmentations.
std::string ways_of(const Tokenizer& tokenizer, const std::string& line, const TokenizerOptions& options,
                    bool as_json) {
  std::string lines;
  Json all = Json::array();
  for (const auto& way : tokenizer.encode_nbest(line, options.nbest, !options.plain_text)) {
    all.push_back({{"score", way.score}, {"ids", way.ids}});
    lines += fmt::format("{:.4f}\t{}", way.score, joined(way.ids));
  }
  return as_json ? line_of({{"ways", all}}) : lines;
}

// Call `work(line, place)` on the pool for each input line, in batches of lines that have already arrived,
// and write the returned texts in input order. With options.skip_bad, lines with errors are skipped;
// otherwise the first error is thrown after the results of the lines before it are written. An error of the
// input itself is thrown in the same way.
template <class Work>
void over_lines(Globals& globals, const TokenizerOptions& options, Work work) {
  BadLines bad_lines(options.skip_bad);
  LineReader reader(options.input, BadUtf8::flag_long);
  struct Line {
    std::string text, result;
    std::optional<Error> error;
  };
  std::vector<Line> lines;
  std::string text;
  std::exception_ptr failure;  // error of reading the line after `lines`
  const auto next_if_ready = [&] {
    try {
      return reader.ready() && reader.next(text);
    } catch (...) {
      failure = std::current_exception();
      return false;
    }
  };
  while (reader.next(text)) {
    const std::int64_t first = reader.line_number();
    lines.clear();
    do {
      Line& line = lines.emplace_back();
      line.text = text;
      if (!reader.valid()) line.error = reader.fault();
    } while (lines.size() < kBatchLines && next_if_ready());
    globals.pool().parallel_for(static_cast<std::int64_t>(lines.size()), [&](std::int64_t i, int) {
      Line& line = lines[static_cast<std::size_t>(i)];
      if (line.error) return;
      try {
        line.result = work(line.text, Place{reader.name(), first + i, -1});
      } catch (const Error& error) {
        line.error = error;
      }
    });
    std::int64_t number = first;
    for (Line& line : lines) {
      if (line.error && !bad_lines.skips(*line.error)) {
        flush_results();
        throw *line.error;
      }
      if (line.error) line.result = skipped_result(globals.json, number, *line.error);
      write_result(line.result);
      ++number;
    }
    flush_results();
    if (failure) std::rethrow_exception(failure);
  }
  bad_lines.report(globals.quiet);
}

void encode(Globals& globals, const TokenizerOptions& options) {
  if (options.nbest > 0 && options.format == "jsonl")
    throw usage_error("--nbest cannot be combined with --input-format jsonl")
        .remedy("Remove one of the two options");
  if (options.view == "pieces" && globals.json)
    throw usage_error("--view pieces cannot be combined with --json").remedy("Remove one of the two options");
  const auto tokenizer = Tokenizer::load(options.tokenizer);
  const text::EncodeOptions how{!options.no_special, !options.plain_text};
  const bool colour = colour_allowed(kStandardOutput);
  const bool pieces = options.view == "pieces" || (options.view == "auto" && colour);
  const int columns = terminal_size(kStandardOutput).columns;
  // Offsets are not computed if only ids are printed and the tokenizer file sets neither truncation nor
  // padding.
  const bool quick = !pieces && !globals.json && (options.view == "ids" || options.format == "text") &&
                     !tokenizer->truncation() && !tokenizer->padding();
  const bool as_json = globals.json || (options.format == "jsonl" && options.view == "auto");
  const auto shown = [&](const Encoding& encoding) {
    if (as_json) return line_of(to_json(encoding));
    return pieces ? text::pieces_view(*tokenizer, encoding.ids, columns, colour) : joined(encoding.ids);
  };
  over_lines(globals, options, [&](const std::string& line, const Place& at) {
    if (options.nbest > 0) return ways_of(*tokenizer, line, options, globals.json);
    if (quick && options.format == "text") return joined(tokenizer->encode_ids(line, how));
    if (options.format == "jsonl") {
      const std::string place = fmt::format("{}:{}", at.file, at.line);
      const Json json = parse_json(line, place);
      const auto first = require<std::string>(json, "text", place);
      const auto second = optional_value<std::string>(json, "pair", place);
      if (quick && !second) return joined(tokenizer->encode_ids(first, how));
      return shown(second ? tokenizer->encode_pair(first, *second, how) : tokenizer->encode(first, how));
    }
    return shown(tokenizer->encode(line, how));
  });
}

// Parse ids: numbers separated by spaces, tabs or commas, a JSON array, or a JSON object with "ids".
std::vector<std::int32_t> read_ids(const std::string& line, const std::string& place) {
  if (line.starts_with('{')) return require<std::vector<std::int32_t>>(parse_json(line, place), "ids", place);
  if (line.starts_with('[')) return json_as<std::vector<std::int32_t>>(parse_json(line, place), "ids", place);
  std::vector<std::int32_t> ids;
  std::string_view rest = line;
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" ,\t"), rest.size()));
    if (rest.empty()) return ids;
    const std::string_view word = rest.substr(0, rest.find_first_of(" ,\t"));
    const auto id = parse_number<std::int32_t>(word);
    if (!id)
      throw Error(ErrorKind::invalid_input, "invalid token id", {place})
          .found(std::string(word.substr(0, 20)))
          .expected("an integer of at least 0");
    ids.push_back(*id);
    rest.remove_prefix(word.size());
  }
}

void decode(Globals& globals, const TokenizerOptions& options) {
  const auto tokenizer = Tokenizer::load(options.tokenizer);
  over_lines(globals, options, [&](const std::string& line, const Place& at) {
    const std::string place = fmt::format("{}:{}", at.file, at.line);
    const auto ids = read_ids(line, place);
    for (const std::int32_t id : ids)
      if (id < 0 || id >= tokenizer->vocabulary_size())
        throw Error(ErrorKind::invalid_input, "an id is not in the vocabulary", {place})
            .found(std::to_string(id))
            .expected(fmt::format("ids from 0 to {}", tokenizer->vocabulary_size() - 1));
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

void show(Globals& globals, const TokenizerOptions& options) {
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

void add_tokenizer_option(CLI::App& verb, TokenizerOptions& options) {
  verb.add_option("-T,--tokenizer", options.tokenizer, "Tokenizer file or model folder")
      ->required()
      ->check(not_empty());
}

}  // namespace

void add_tokenizer(CLI::App& app, Globals& globals) {
  CLI::App* verb = app.add_subcommand("tokenizer", "Encode, decode and train tokenizers");
  verb->require_subcommand(1);
  const auto options = std::make_shared<TokenizerOptions>();

  CLI::App* encoding = verb->add_subcommand("encode", "Encode lines of text");
  add_globals(*encoding, globals);
  add_tokenizer_option(*encoding, *options);
  add_checked_option(
      *encoding, "--input-format", options->format,
      "Format of FILE: text (one text per line), or jsonl ({\"text\": …} or {\"text\": …, \"pair\": …} "
      "per line)",
      CLI::IsMember({"text", "jsonl"}));
  add_checked_option(*encoding, "--view", options->view,
                     "Output: ids, pieces (tokens with ids below), or auto (pieces on a terminal, else ids)",
                     CLI::IsMember({"auto", "ids", "pieces"}));
  encoding
      ->add_option("--nbest", options->nbest,
                   "Print the N best segmentations of each line with their scores (unigram models)")
      ->check(CLI::Range(1, 1024));
  encoding->add_flag("--no-special", options->no_special, "Do not add special tokens");
  encoding->add_flag("--plain-text", options->plain_text,
                     "Treat special tokens that occur in the text as plain text");
  encoding->add_option("FILE", options->input, "Input file, one text per line; - is standard input")
      ->capture_default_str()
      ->check(not_empty());
  add_skip_bad(*encoding, options->skip_bad);
  encoding->callback([&globals, options] { encode(globals, *options); });

  CLI::App* decoding = verb->add_subcommand("decode", "Decode lines of ids");
  add_globals(*decoding, globals);
  add_tokenizer_option(*decoding, *options);
  decoding->add_flag("--keep-special", options->keep_special, "Keep special tokens in the text");
  decoding
      ->add_option(
          "FILE", options->input,
          "File with the ids of one text per line, separated by spaces or commas; - is standard input")
      ->capture_default_str()
      ->check(not_empty());
  decoding->callback([&globals, options] { decode(globals, *options); });

  CLI::App* info = verb->add_subcommand("info", "Describe a tokenizer");
  add_globals(*info, globals, {.threads = false});
  info->add_option("TOKENIZER", options->tokenizer, "Tokenizer file or model folder")
      ->required()
      ->check(not_empty());
  info->callback([&globals, options] { show(globals, *options); });

  add_tokenizer_train(*verb, globals);
}

}  // namespace regard::cli
