#include "train/conversations.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/hash.h"
#include "data/duplicates.h"
#include "train/corpora.h"
#include "train/task.h"

namespace regard::train {
namespace {

constexpr const char* kAssistant = "assistant";

// A part [begin, end) of a text, in bytes.
struct Part {
  std::size_t begin = 0, end = 0;
};

std::string rendered(const ChatFormat& format, const Json& messages, std::size_t count, bool prompt) {
  const Json first(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(count));
  return text::render_chat(format.config, format.chat_template, first, {.add_generation_prompt = prompt});
}

// Return the text that the template writes before the content of message `i`: the longest common beginning of
// `whole` and of the same conversation with another content of message `i`.
std::string before_content(const ChatFormat& format, const Json& messages, std::size_t i,
                           const std::string& whole) {
  std::size_t size = whole.size();
  // the original content can begin with one of these letters, but not with both
  for (const char* other : {"x", "y"}) {
    Json changed = messages;
    changed[i]["content"] = other;
    const std::string text = rendered(format, changed, changed.size(), false);
    const auto [end, ignored] = std::mismatch(whole.begin(), whole.end(), text.begin(), text.end());
    size = std::min(size, static_cast<std::size_t>(end - whole.begin()));
  }
  return whole.substr(0, size);
}

// Return the parts of the rendered conversation `whole` that contain the messages of the assistant. White
// space at the end of a message is excluded, because the assistant writes nothing after its end token.
std::vector<Part> parts_of_assistant(const ChatFormat& format, const Json& messages,
                                     const std::string& whole) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].at("role") != kAssistant) continue;
    std::string before = i == 0 ? "" : rendered(format, messages, i, true);
    // With some templates, a prompt ends with text that is not in the conversation, such as an opening
    // <think> tag.
    if (i == 0 || !whole.starts_with(before)) before = before_content(format, messages, i, whole);
    std::string after = i + 1 == messages.size() ? whole : rendered(format, messages, i + 1, false);
    if (!whole.starts_with(before) || !whole.starts_with(after) || after.size() < before.size())
      throw input_error(fmt::format("the chat template formats the first {} messages differently from the "
                                    "complete conversation, so the assistant's text cannot be located",
                                    i + 1))
          .remedy("Split the conversation, or select another template with 'data.chat_template'");
    const std::size_t last = after.find_last_not_of(" \t\r\n");
    parts.push_back({before.size(), last == std::string::npos ? 0 : last + 1});
  }
  return parts;
}

// Reads the training and validation conversations of a run into a ConversationData.
class Reader {
 public:
  Reader(const RunConfig& config, const ChatFormat& format, ConversationData& data)
      : config_(config), format_(format), data_(data) {}

  void read_all() {
    if (!config_.data.valid.empty()) read(config_.data.valid, true);
    read(config_.data.train, false);
    for (const auto& [name, store] : {std::pair("training", &data_.train), {"validation", &data_.valid}})
      data_.notes.push_back(fmt::format("{}: {}, {}, {} of them by the assistant", name,
                                        counted(store->size(), "conversation"),
                                        counted(store->ids.tokens(), "token"), written_in(*store)));
    data_.notes.push_back("read " + report_.text());
    if (truncated_ > 0)
      data_.notes.push_back(
          fmt::format("{} truncated to {}", counted(truncated_, "conversation"), counted(most(), "token")));
    if (without_ > 0)
      data_.notes.push_back(
          fmt::format("{} without a token of the assistant skipped", counted(without_, "conversation")));
    if (std::string found = duplicates_.text(); !found.empty()) data_.notes.push_back(std::move(found));
  }

 private:
  std::size_t most() const { return static_cast<std::size_t>(config_.training.context) + 1; }

  static std::int64_t written_in(const ConversationStore& store) {
    const auto flags = store.written.ids();
    return std::count(flags.begin(), flags.end(), 1);
  }

  void read(const std::vector<std::string>& files, bool validation) {
    data::TableReader table(table_options(config_, files));
    data::TableRow row;
    while (table.next(row)) {
      table.read_or_skip(row, [&] {
        add_row(row, validation);
        if (!validation) data_.sources.set(table.file_index(), data_.train.size());
      });
    }
    table.report().refuse_more_than(config_.data.max_skipped, "data.max_skipped");
    report_.add(table.report());
  }

  // Throws bad_file if the row is not a conversation.
  void add_row(const data::TableRow& row, bool validation) {
    const Json messages = row.json(0);
    try {
      add(encode_conversation(format_, messages), messages.dump(), row.place(), validation);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::invalid_input) throw;
      throw row.error(0, error.message())
          .found(error.found())
          .expected(error.expected())
          .remedy(error.remedy());
    }
  }

  void add(EncodedConversation encoded, const std::string& text, const Place& place, bool validation) {
    const std::vector<std::string> texts{text};
    if (validation)
      duplicates_.add_validation(texts, place);
    else
      duplicates_.check_training(texts, place);
    if (encoded.ids.size() > most()) {
      encoded.ids.resize(most());
      encoded.written.resize(most());
      ++truncated_;
    }
    if (!encoded.is_counted()) {
      ++without_;
      return;
    }
    ConversationStore& store = validation || is_held_out(config_, text) ? data_.valid : data_.train;
    store.ids.add(encoded.ids);
    store.written.add(encoded.written);
  }

  const RunConfig& config_;
  const ChatFormat& format_;
  ConversationData& data_;
  data::SplitDuplicates duplicates_;
  data::RowReport report_;
  std::int64_t truncated_ = 0, without_ = 0;
};

}  // namespace

bool EncodedConversation::is_counted() const {
  return !written.empty() && std::find(written.begin() + 1, written.end(), 1) != written.end();
}

void ConversationStore::append(Batch& batch, std::size_t i, std::uint64_t index) const {
  const std::size_t before = batch.labels.size();
  batch.add_window(ids[i], index);
  const std::span<const std::int32_t> counted = written[i];
  for (std::size_t t = 1; t < counted.size(); ++t)
    if (counted[t] == 0) batch.labels[before + t - 1] = kIgnoredLabel;
}

ChatFormat ChatFormat::of(const Tokenizers& tokenizers, const std::string& name) {
  text::TokenizerConfig config = text::tokenizer_config_of(tokenizers.settings);
  text::ChatTemplate chosen;
  try {
    chosen = text::find_chat_template(config, name);
  } catch (const Error& error) {
    if (!name.empty()) throw;
    throw usage_error("the folder of 'model.from' has no chat template")
        .remedy(fmt::format("Set 'data.chat_template' to the template that the model was trained with: {}",
                            fmt::join(text::common_chat_templates(), ", ")));
  }
  return {std::move(config), std::move(chosen), tokenizers.target};
}

EncodedConversation encode_conversation(const ChatFormat& format, const Json& messages) {
  const std::string whole =
      text::render_chat(format.config, format.chat_template, messages, {.add_generation_prompt = false});
  const std::vector<Part> parts = parts_of_assistant(format, messages, whole);
  text::Encoding encoding =
      format.tokenizer->encode(whole, {.add_special = false, .match_special = true, .as_file = false});
  EncodedConversation encoded{std::move(encoding.ids), {}};
  for (const text::Offsets& token : encoding.byte_offsets)
    encoded.written.push_back(std::any_of(parts.begin(), parts.end(), [&token](const Part& part) {
      return token.end > part.begin && token.begin < part.end;
    }));
  return encoded;
}

ConversationData load_conversations(const RunConfig& config, const ChatFormat& format) {
  ConversationData data;
  Reader(config, format, data).read_all();
  for (const ConversationStore* store : {&data.train, &data.valid})
    data.fingerprint = data.fingerprint * 3 + store->ids.fingerprint() * 5 + store->written.fingerprint();
  if (data.train.size() == 0) throw nothing_left(config, "train");
  if (data.valid.size() == 0) throw nothing_left(config, "validate");
  return data;
}

}  // namespace regard::train
