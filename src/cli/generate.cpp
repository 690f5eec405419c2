// regard generate: continue lines of text, a single prompt or a conversation. The continuation of a prompt or
// conversation is streamed, except with --json or several results.

#include "base/file.h"
#include "base/json_text.h"
#include "base/plain_text.h"
#include "base/utf8.h"
#include "cli/decode_lines.h"
#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/server_lines.h"
#include "cli/task_lines.h"
#include "cli/text_argument.h"
#include "cli/verb.h"
#include "infer/collector.h"
#include "infer/hypothesis_json.h"
#include "infer/text_stream.h"
#include "regard/error.h"
#include "text/chat_template.h"

namespace regard::cli {
namespace {

constexpr std::uint64_t kLargestChat = std::uint64_t{1} << 26;  // maximum size of a conversation in bytes

struct GenerateOptions {
  DecodingOptions decoding;
  std::optional<std::string> prompt, chat;
  std::string chat_template, system;
  ServerOptions server;
};

// Writes a continuation token by token, without the text that later tokens may still change (incomplete
// characters, possible stop strings). With beam search, writes everything at the end.
class TextStreamer : public infer::Listener {
 public:
  TextStreamer(const infer::LoadedModel& model, const infer::SearchOptions& search,
               std::span<const std::int32_t> prompt, ResultOutput& output)
      : output_(output), stream_(model, search, prompt), streams_(search.beam == 1) {}
  void token(std::uint64_t, std::int64_t, std::int32_t token) override {
    if (streams_) show(stream_.push(token));
  }
  // Write the rest of the text, which includes the last token: token() is not called for it. With beam
  // search, this is the whole text.
  void finished(std::uint64_t, std::vector<infer::Hypothesis> hypotheses) override {
    show(stream_.finish(hypotheses.at(0)) + "\n");
    written_ = std::move(hypotheses[0].tokens);
  }
  const std::vector<std::int32_t>& written() const { return written_; }

 private:
  void show(const std::string& text) {
    output_.write(text);
    output_.flush();
  }
  ResultOutput& output_;
  infer::TextStream stream_;
  bool streams_;
  std::vector<std::int32_t> written_;
};

void run(infer::Scheduler& scheduler, infer::Request request) {
  scheduler.submit(std::move(request));
  catch_signals();
  while (stop_signal() == 0 && scheduler.step()) {
  }
}

// Generate one continuation. `shown` is the text that is printed before it.
void generate_one(const infer::LoadedModel& model, const GenerateOptions& options, ModelInput input,
                  const std::string& shown, Globals& globals) {
  ModelProbes probes(options.decoding.probes, model, globals.pool());
  ResultOutput output(options.decoding.output);
  infer::SearchOptions search = search_of(options.decoding, model, globals);
  search.probe = probes.probe();
  if (input.empty())
    throw input_error("the prompt has no tokens").remedy("Give a prompt of at least one character");
  const AttendedInput attended{shown, input};
  infer::Request request = infer::request_of(*model.model, std::move(input));
  const std::vector<std::int32_t> prompt = request.prompt;
  if (search.n_best == 1 && !globals.json) {
    TextStreamer streamer(model, search, prompt, output);
    infer::Scheduler scheduler(*model.model, globals.pool(), search, streamer);
    if (!prompt.empty()) output.write(shown);
    run(scheduler, std::move(request));
    if (stop_signal() == 0) output.finish();
    attend_written(probes, model, globals.pool(), options.decoding.model, attended, streamer.written());
    return probes.finish();
  }
  infer::Collector collector(1);
  infer::Scheduler scheduler(*model.model, globals.pool(), search, collector);
  run(scheduler, std::move(request));
  if (!collector.results[0].empty())
    attend_written(probes, model, globals.pool(), options.decoding.model, attended,
                   collector.results[0][0].tokens);
  probes.finish();
  Json list = Json::array();
  for (const infer::Hypothesis& one : collector.results[0]) {
    const std::string text = model.written(one, search, prompt);
    if (globals.json)
      list.push_back(infer::hypothesis_json(model, one, text, options.decoding.log_probabilities));
    else
      output.write(fmt::format("0 ||| {} ||| {:.4f}\n", on_one_line(text), one.score));
  }
  if (list.empty() && globals.json) return;
  if (globals.json) {
    const Json json{{"output", list[0]["text"]}, {"score", list[0]["score"]}, {"hypotheses", list}};
    output.write(json_text(json) + "\n");
  }
  if (stop_signal() == 0) output.finish();
}

// Return the conversation of --chat as a JSON list of messages, preceded by the --system message. --chat is a
// conversation, the name of a ".json" file or "-" for standard input. A conversation is a JSON list of
// messages or the text of one user message.
Json conversation_of(const GenerateOptions& options) {
  std::string text = *options.chat;
  std::string name = "the conversation";
  if (text == "-" || text.ends_with(".json")) {
    name = text == "-" ? "standard input" : text;
    text = without_byte_order_mark(read_file(text, kLargestChat));
  }
  if (!utf8::valid(text)) throw Error(ErrorKind::invalid_input, "the conversation is not UTF-8", {name});
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const bool json = begin != text.npos && text[begin] == '[';
  while (!json && text.ends_with('\n')) text.pop_back();
  Json messages = json ? parse_json(text, name) : Json::array({{{"role", "user"}, {"content", text}}});
  if (options.system.empty()) return messages;
  Json with_system = Json::array({{{"role", "system"}, {"content", options.system}}});
  for (Json& message : messages) with_system.push_back(std::move(message));
  return with_system;
}

void chat(const infer::LoadedModel& model, const GenerateOptions& options, Globals& globals) {
  const text::TokenizerConfig config = text::read_tokenizer_config(model.folder.tokenizer);
  const std::string rendered = text::render_chat(
      config, text::find_chat_template(config, options.chat_template), conversation_of(options));
  generate_one(model, options, model.read_chat(rendered, options.decoding.truncate), "", globals);
}

void generate_at(const GenerateOptions& options, Globals& globals) {
  options.server.exclude(!options.chat_template.empty(), "--chat-template");
  Json request = generate_request(options.server, options.decoding, globals);
  if (options.chat) {
    request["messages"] = conversation_of(options);
    return generate_one_at(options.server, request, "", options.decoding, globals);
  }
  if (!options.prompt) return decode_lines_at(options.server, request, options.decoding, globals);
  request["inputs"] = *options.prompt;
  generate_one_at(options.server, request, *options.prompt, options.decoding, globals);
}

void generate(const GenerateOptions& options, Globals& globals) {
  if (options.prompt && options.chat)
    throw usage_error("--prompt cannot be combined with --chat").remedy("Remove one of the two options");
  if ((options.prompt || options.chat) && options.decoding.input != "-")
    throw usage_error("an input file cannot be combined with --prompt or --chat")
        .found(options.decoding.input)
        .remedy("Remove the file or the option");
  if (!options.chat && (!options.chat_template.empty() || !options.system.empty()))
    throw usage_error("--chat-template and --system need --chat").remedy("Add --chat");
  if (options.server.given()) return generate_at(options, globals);
  const infer::LoadedModel model = open_for(options.decoding, "", globals);
  if (options.chat) return chat(model, options, globals);
  if (!options.prompt)
    return decode_lines(model, search_of(options.decoding, model, globals), options.decoding, globals);
  generate_one(model, options,
               read_at(model, *options.prompt, options.decoding.truncate, {"the prompt", -1, -1}),
               *options.prompt, globals);
}

}  // namespace

void add_generate(CLI::App& app, Globals& globals) {
  const auto [verb, options] = add_command<GenerateOptions>(
      app, "generate", "Continue text, or answer in a conversation",
      "Continues each line of FILE or standard input and prints the continuation as one line, with line "
      "ends\n"
      "written as \\n"
      " (--json has the exact text). If the input is a single line or is typed at a terminal,\n"
      "line ends are printed unchanged. --prompt continues one text and --chat answers a conversation; both\n"
      "stream their output. For an encoder-decoder, the text is the source.");
  options->decoding.single_as_is = true;
  add_decoding_options(*verb, options->decoding);
  verb->add_option("--prompt,-p", options->prompt, "Continue this text instead of input lines")
      ->check(valid_text());
  verb->add_option("--chat", options->chat,
                   "Conversation to answer: a user's message, a JSON list of messages, a .json file, or - "
                   "(standard input)");
  verb->add_option("--system", options->system, "System message to prepend to the conversation")
      ->check(valid_text());
  verb->add_option("--chat-template", options->chat_template,
                   "Chat template: a name in the folder, or chatml, gemma, llama2, llama3, mistral, phi or\n"
                   "zephyr. Default: the template in the folder")
      ->check(not_empty());
  add_server_options(*verb, options->server);
  add_quantize(*verb, globals);
  set_action(*verb, globals, options, generate, {.seed = true});
}

}  // namespace regard::cli
