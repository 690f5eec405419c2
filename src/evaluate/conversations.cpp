#include "evaluate/conversations.h"

#include <cmath>

#include "base/counted.h"
#include "data/table.h"
#include "train/conversations.h"
#include "train/evaluation.h"

namespace regard::evaluate {
namespace {

struct Rows {
  train::ConversationStore encoded;
  std::vector<EvaluatedRow> rows;  // result of each conversation in `encoded`
  std::int64_t truncated = 0;      // number of truncated conversations
};

// Read and encode the conversations. `most`: maximum number of tokens of a conversation.
Rows read_rows(const train::ChatFormat& format, const DataOptions& data, std::size_t most, bool cut) {
  Rows rows;
  data::TableReader table = open_table(data, {{"messages"}});
  for (data::TableRow row; table.next(row);) {
    const Json messages = row.json(0);
    train::EncodedConversation one =
        placed(row.place(), [&] { return train::encode_conversation(format, messages); });
    if (one.ids.size() > most) {
      if (!cut)
        throw row.error(0, "the conversation is too long")
            .found(counted(one.ids.size(), "token"))
            .expected(fmt::format("at most {}", counted(most, "token")))
            .remedy("Remove the row, or truncate long conversations");
      one.ids.resize(most), one.written.resize(most);
      ++rows.truncated;
    }
    if (!one.is_counted())
      throw row.error(0, "the conversation has no token of the assistant")
          .expected("a message of the assistant")
          .remedy("Remove the row");
    rows.encoded.ids.add(one.ids);
    rows.encoded.written.add(one.written);
    rows.rows.push_back({row.place(), messages, nullptr, nullptr});
  }
  if (rows.rows.empty()) throw nothing_to_evaluate(data);
  return rows;
}

}  // namespace

Evaluation conversations(const Subject& subject, const DataOptions& data,
                         const ConversationOptions& options) {
  const std::int64_t positions = subject.model.model->max_positions();
  if (positions > 0 && options.context > positions)
    throw usage_error("the context exceeds the model's maximum number of positions")
        .found(fmt::format("a context of {} tokens", options.context))
        .expected(fmt::format("at most {}", counted(positions, "token")));
  const std::int64_t context = options.context > 0 ? options.context : positions;
  const text::TokenizerConfig settings = text::read_tokenizer_config(subject.model.folder.tokenizer);
  const train::ChatFormat format{settings, text::find_chat_template(settings, options.chat_template),
                                 subject.model.target};
  Rows rows = read_rows(format, data, context > 0 ? static_cast<std::size_t>(context) + 1 : std::string::npos,
                        options.cut);
  Arena arena;
  train::LossSum sum;
  Table table;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const train::LossSum loss = train::example_loss(
        *subject.model.model, {.pool = subject.pool, .arena = arena, .probe = subject.probe}, 1,
        [&](train::Batch& batch, std::size_t) { rows.encoded.append(batch, i, i); });
    sum.total += loss.total, sum.tokens += loss.tokens;
    table.push_back({static_cast<float>(loss.total), static_cast<float>(loss.tokens)});
    rows.rows[i].score = loss.mean();
    rows.rows[i].output = loss.mean();
  }
  Evaluation result;
  result.task = "language-model";
  result.fact("conversations", rows.rows.size());
  result.fact("tokens", sum.tokens);
  result.fact("truncated", rows.truncated);
  result.fact("loss", sum.mean());
  result.scores.push_back(
      {"perplexity", std::exp(sum.mean()), sums(std::move(table), [](std::span<const double> totals) {
         return std::exp(totals[0] / totals[1]);
       })});
  result.line("conversations    {} ({} truncated)", rows.rows.size(), rows.truncated);
  result.line(
      "tokens           {} of the assistant\nloss             {:.4f} nats per token\nperplexity       {:.2f}",
      sum.tokens, sum.mean(), std::exp(sum.mean()));
  result.rows = std::move(rows.rows);
  result.row_score = "loss";
  return result;
}

}  // namespace regard::evaluate
