// Runs with data.conversations: which tokens count in the loss, runs, and rows that are not conversations.
#include "train/conversations.h"

#include <gtest/gtest.h>

#include <cmath>

#include "run_case.h"
#include "support/throws.h"

namespace regard::train {
namespace {

constexpr const char* kTemplate =
    "{% for m in messages %}{{ bos_token }}{{ m.role }}: {{ m.content }}{{ eos_token }}\n{% endfor %}"
    "{% if add_generation_prompt %}{{ bos_token }}assistant: {% endif %}";

Json message(const char* role, const char* content) {
  return {{"role", role}, {"content", content}};
}

class Conversations : public RunCase {
 protected:
  // Make the folder "base": a small language model over characters, with a chat template.
  Conversations() {
    write("text.txt", std::string(40, 'a') + "user: assistant: system: hello hi there bye see you\n");
    write("run.toml", R"(task = "language-model"
[data]
train = ["text.txt"]
valid = ["text.txt"]
[tokenizer]
type = "char"
[model]
family = "gpt2"
layers = 1
hidden_size = 32
heads = 2
feed_forward_size = 64
dropout = 0.0
max_positions = 80
[training]
batch_size = 4
context = 16
max_steps = 1
warmup_steps = 0
[output]
folder = "first"
)");
    EXPECT_EQ(train({"-q"}).exit_code, 0);
    fs::copy(folder / "first/best", folder / "base", fs::copy_options::recursive);
    Json settings = read_json((folder / "base/tokenizer_config.json").string());
    settings["chat_template"] = kTemplate;
    write("base/tokenizer_config.json", settings.dump());
    std::string rows;
    for (int i = 0; i < 40; ++i) rows += row({message("user", "hello"), message("assistant", "hi there")});
    for (int i = 0; i < 40; ++i) rows += row({message("user", "bye"), message("assistant", "see you")});
    write("train.jsonl", rows);
    write("valid.jsonl", row({message("user", "bye"), message("assistant", "see you")}));
    write("run.toml", R"(task = "language-model"
[data]
train = ["train.jsonl"]
valid = ["valid.jsonl"]
columns = ["messages"]
conversations = true
[model]
from = "base"
[training]
batch_size = 8
context = 64
max_steps = 60
warmup_steps = 0
learning_rate = 0.01
[validation]
every_steps = 30
samples = 1
[output]
folder = "run"
)");
  }
  static std::string row(const std::vector<Json>& messages) {
    return Json{{"messages", messages}}.dump() + "\n";
  }
  void write(const std::string& name, const std::string& content) {
    regard::testing::write_file(folder.path(), name, content);
  }
  // Train for one step with the training data `rows`, and return standard error.
  std::string says(const std::string& rows, std::vector<std::string> more = {}) {
    write("other.jsonl", rows);
    for (const char* set : {"data.train=[\"other.jsonl\"]", "training.max_steps=1", "output.folder=other"})
      more.insert(more.end(), {"--set", set});
    const std::string text = train(more).err;
    fs::remove_all(folder / "other");
    return text;
  }
};

TEST_F(Conversations, OnlyTheAssistantsTokensCount) {
  const Tokenizers tokenizers = Tokenizers::load(folder / "base");
  const ChatFormat format = ChatFormat::of(tokenizers, "");
  const EncodedConversation encoded = encode_conversation(
      format, Json::array({message("system", "hi"), message("user", "hello"), message("assistant", "see you"),
                           message("user", "bye"), message("assistant", "hi there")}));
  ASSERT_EQ(encoded.ids.size(), encoded.written.size());
  std::string whole, written;
  for (std::size_t i = 0; i < encoded.ids.size(); ++i) {
    const std::string token = tokenizers.target->decode(std::vector{encoded.ids[i]}, false);
    whole += token;
    if (encoded.written[i] == 1) written += token;
  }
  EXPECT_EQ(written, "see you</s>hi there</s>");
  EXPECT_EQ(whole,
            "<s>system: hi</s>\n<s>user: hello</s>\n<s>assistant: see you</s>\n<s>user: bye</s>\n"
            "<s>assistant: hi there</s>\n");
  EXPECT_EQ(encoded.ids[0], *tokenizers.target->id_of("<s>")) << "special tokens are matched";
}

// transformers and OpenAI's API also accept such conversations.
TEST_F(Conversations, AConversationMayBeginWithTheAssistant) {
  const Tokenizers tokenizers = Tokenizers::load(folder / "base");
  const ChatFormat format = ChatFormat::of(tokenizers, "");
  const EncodedConversation encoded = encode_conversation(
      format,
      Json::array({message("assistant", "you"), message("user", "bye"), message("assistant", "see you")}));
  std::string written;
  for (std::size_t i = 0; i < encoded.ids.size(); ++i)
    if (encoded.written[i] == 1) written += tokenizers.target->decode(std::vector{encoded.ids[i]}, false);
  EXPECT_EQ(written, "you</s>see you</s>");
  const std::string good = row({message("user", "hello"), message("assistant", "hi")});
  const std::string text = says(good + row({message("assistant", "hi")}));
  EXPECT_NE(text.find("training: 2 conversations"), std::string::npos) << text;
}

// Templates of reasoning models end the prompt with the beginning of a thought, which finished conversations
// do not contain. The role before a message is not a text of the assistant.
TEST_F(Conversations, APromptMayHaveTextThatTheConversationLacks) {
  const Tokenizers tokenizers = Tokenizers::load(folder / "base");
  ChatFormat format = ChatFormat::of(tokenizers, "");
  const std::string plain = "assistant: {% endif %}";
  std::string& text = format.chat_template.text;
  text.replace(text.rfind(plain), plain.size(), "assistant: <think>{% endif %}");
  const EncodedConversation encoded =
      encode_conversation(format, Json::array({message("user", "hello"), message("assistant", "see you"),
                                               message("user", "bye"), message("assistant", "hi there")}));
  std::string written;
  for (std::size_t i = 0; i < encoded.ids.size(); ++i)
    if (encoded.written[i] == 1) written += tokenizers.target->decode(std::vector{encoded.ids[i]}, false);
  EXPECT_EQ(written, "see you</s>hi there</s>");
}

TEST_F(Conversations, ARunAnswersAndResumesWithoutItsFolder) {
  const ProgramResult trained = train();
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_NE(trained.err.find("training: 80 conversations"), std::string::npos) << trained.err;
  EXPECT_NE(trained.err.find("= see you"), std::string::npos) << trained.err;
  EXPECT_LT(last_validation("run")["loss"].get<double>(), 0.5);
  // The checkpoint keeps the chat template.
  const auto answer = [&](const std::string& model) {
    return run_program({"generate", model, "--chat", "hello", "--max-new", "12"}, folder.path()).out;
  };
  EXPECT_EQ(answer("run"), "hi there\n");
  fs::remove_all(folder / "base");
  const ProgramResult resumed =
      run_program({"train", "--resume", "run", "--set", "training.max_steps=61", "-q"}, folder.path());
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(answer("run/latest"), "hi there\n");
}

TEST_F(Conversations, EvaluateGivesTheLossOfTheValidation) {
  ASSERT_EQ(train({"-q", "--set", "training.max_steps=30"}).exit_code, 0);
  const auto evaluate = [&](std::vector<std::string> more) {
    more.insert(more.begin(), "evaluate");
    return run_program(more, folder.path());
  };
  const ProgramResult result = evaluate({"run", "valid.jsonl", "--chat", "--json", "--bootstrap", "20"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json json = Json::parse(result.out);
  EXPECT_NEAR(json["loss"].get<double>(), last_validation("run")["loss"].get<double>(), 1e-6);
  EXPECT_EQ(json["conversations"], 1);
  EXPECT_EQ(json["tokens"], 8) << "see you</s>";
  // Every sample of the only conversation has its perplexity.
  for (const char* end : {"mean", "lower", "upper"})
    EXPECT_NEAR(json["intervals"]["perplexity"][end].get<double>(), json["perplexity"].get<double>(),
                1e-4 * json["perplexity"].get<double>());
  EXPECT_NEAR(json["perplexity"].get<double>(), std::exp(json["loss"].get<double>()), 1e-9);
  const ProgramResult compared =
      evaluate({"--compare", "run", "base", "train.jsonl", "--chat-template", "chatml", "--samples", "20"});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
}

TEST_F(Conversations, EvaluateRefusesRowsThatCannotBeCounted) {
  const auto says_of = [&](const std::string& content, std::vector<std::string> more = {}) {
    write("other.jsonl", row({message("user", "bye"), message("assistant", "see you")}) + content);
    more.insert(more.begin(), {"evaluate", "base", "other.jsonl", "--chat"});
    return run_program(more, folder.path()).err;
  };
  EXPECT_NE(says_of("{\"messages\": 3}\n").find("other.jsonl:2: "), std::string::npos);
  EXPECT_NE(says_of(row({message("user", "bye")})).find("other.jsonl:2: "), std::string::npos);
  const std::string text(90, 'a');
  const std::string longer = row({message("user", "bye"), message("assistant", text.c_str())});
  EXPECT_NE(says_of(longer).find("other.jsonl:2: "), std::string::npos);
  EXPECT_NE(says_of(longer).find("at most 81 tokens"), std::string::npos) << says_of(longer);
  EXPECT_EQ(says_of(longer, {"--truncate"}), "");
  fs::remove(folder / "base/tokenizer_config.json");
  EXPECT_NE(says_of("").find("chat template"), std::string::npos);
}

TEST_F(Conversations, AnotherTemplateBecomesThatOfTheCheckpoints) {
  fs::remove(folder / "base/tokenizer_config.json");
  const std::string rows = file_content(folder / "train.jsonl");
  EXPECT_NE(says(rows).find("the folder of 'model.from' has no chat template"), std::string::npos);
  EXPECT_NE(says(rows, {"--set", "data.chat_template=none"}).find("unknown chat template"),
            std::string::npos);
  ASSERT_EQ(train({"-q", "--set", "data.chat_template=chatml", "--set", "training.max_steps=1"}).exit_code,
            0);
  EXPECT_EQ(run_program({"generate", "run", "--chat", "hello", "--max-new", "3"}, folder.path()).exit_code,
            0);
  // The folder of the tokenizer can contain chat_template.jinja: it is a checkpoint if the run is resumed,
  // and transformers writes this file. data.chat_template replaces it.
  EXPECT_EQ(run_program({"train", "--resume", "run", "-q", "--set", "training.max_steps=3"}, folder.path())
                .exit_code,
            0);
  const std::string chatml = file_content(folder / "run/best/chat_template.jinja");
  write("base/chat_template.jinja", "{{ messages[0].content }}");
  fs::remove_all(folder / "run");
  ASSERT_EQ(train({"-q", "--set", "data.chat_template=chatml", "--set", "training.max_steps=1"}).exit_code,
            0);
  EXPECT_EQ(file_content(folder / "run/best/chat_template.jinja"), chatml);
}

TEST_F(Conversations, GenerationSettingsOfTheFolderAreKept) {
  write("base/generation_config.json", R"({"eos_token_id": [3, 5], "temperature": 0.5})");
  ASSERT_EQ(train({"-q", "--set", "training.max_steps=1"}).exit_code, 0);
  EXPECT_EQ(read_json((folder / "run/best/generation_config.json").string()),
            (Json{{"eos_token_id", {3, 5}}, {"temperature", 0.5}}));
}

TEST_F(Conversations, ADryRunShowsWhichTokensCount) {
  write("valid.jsonl", row({message("user", "hi"), message("assistant", "you")}));
  const ProgramResult result =
      train({"--dry-run", "--set", "data.preview=1", "--set", "data.train=[\"valid.jsonl\"]"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string labels =
      "\n  labels ·   · · · · · · · · ·    ·    ·   · · · · · · · · · · y o u </s> ·\n";
  EXPECT_NE(result.out.find(labels), std::string::npos) << result.out;
}

// data.weights needs the number of training conversations of each file.
TEST_F(Conversations, AreCountedByFile) {
  const Tokenizers tokenizers = Tokenizers::load(folder / "base");
  const ChatFormat format = ChatFormat::of(tokenizers, "");
  const RunConfig config =
      read_run((folder / "run.toml").string(), {"data.train=[\"train.jsonl\", \"valid.jsonl\"]"});
  const ConversationData data = load_conversations(config, format);
  EXPECT_EQ(std::vector<std::size_t>(data.sources.ends().begin(), data.sources.ends().end()),
            (std::vector<std::size_t>{80, 81}));
  EXPECT_EQ(data.valid.size(), 1u);
}

// The beginning of a conversation must not depend on the messages after it.
TEST_F(Conversations, ATemplateMustFormatBeginningsAsInTheWhole) {
  const Tokenizers tokenizers = Tokenizers::load(folder / "base");
  ChatFormat format = ChatFormat::of(tokenizers, "");
  format.chat_template.text = "{{ messages | length }}" + format.chat_template.text;
  const Json two = Json::array({message("user", "hello"), message("assistant", "see you")});
  EXPECT_EQ(encode_conversation(format, two).written.size(), encode_conversation(format, two).ids.size());
  Json four = two;
  for (const Json& one : two) four.push_back(one);
  EXPECT_REGARD_ERROR(encode_conversation(format, four), ErrorKind::invalid_input,
                      "the chat template formats the first 2 messages differently from the complete "
                      "conversation, so the assistant's text cannot be located. Split the conversation, or");
}

TEST_F(Conversations, WrongRowsAreNamed) {
  const std::string good = row({message("user", "hello"), message("assistant", "hi")});
  for (const auto& [bad, message_text] :
       {std::pair<std::string, const char*>{"{\"messages\": \"hi\"}\n", "not a conversation"},
        {row({Json{{"content", "hi"}}}), "not a conversation"},
        {"{\"m\": 1}\n", "the object has no key 'messages'"}}) {
    const std::string text = says(good + bad);
    EXPECT_NE(text.find("other.jsonl:2: "), std::string::npos) << text;
    EXPECT_NE(text.find(message_text), std::string::npos) << text;
  }
  for (const char* bad : {"{\"messages\": \"hi\"}\n", "{\"messages\": null}\n"})
    EXPECT_NE(says(good + bad, {"--set", "data.malformed=skip"}).find("1 malformed skipped"),
              std::string::npos)
        << bad;
  EXPECT_NE(says(good + row({message("user", "hello")})).find("1 conversation without a token"),
            std::string::npos);
  EXPECT_NE(says(good, {"--set", "model.from="}).find("requires 'model.from'"), std::string::npos);
  write("train.tsv", "messages\nhello\n");
  EXPECT_NE(train({"--set", "data.train=[\"train.tsv\"]"}).err.find("only JSONL"), std::string::npos);
}

}  // namespace
}  // namespace regard::train
