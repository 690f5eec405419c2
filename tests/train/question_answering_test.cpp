// The task "question-answering": steps equal to transformers', windows, runs, wrong data.
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>

#include "ops/span_cross_entropy.h"
#include "run_case.h"
#include "support/compress.h"
#include "support/throws.h"
#include "task_step.h"
#include "train/tasks/question_answering.h"

namespace regard::train {
namespace {

// Return contexts such as "anna has three red apples ."; the question asks for the number of a person's
// things.
std::string questions(std::uint64_t seed, std::size_t count, bool unanswerable) {
  const std::vector<std::string> names{"anna", "ben", "carl", "dora"}, numbers{"one", "two", "three", "four"};
  RandomStream random({seed, 0, 0});
  Json paragraphs = Json::array();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t name = random.next_below(4), other = (name + 1 + random.next_below(3)) % 4;
    const std::string number = numbers[random.next_below(4)];
    const std::string start = names[name] + " has ";
    const std::string context = start + number + " red apples . " + names[other] + " has none at all .";
    const bool none = unanswerable && i % 4 == 3;
    Json question{{"id", std::to_string(i)},
                  {"question", "how many apples has " + names[none ? other : name] + " ?"},
                  {"is_impossible", none},
                  {"answers", Json::array()}};
    if (!none) question["answers"].push_back({{"text", number}, {"answer_start", start.size()}});
    paragraphs.push_back({{"context", context}, {"qas", {question}}});
  }
  return Json{{"data", {{{"title", "apples"}, {"paragraphs", paragraphs}}}}}.dump();
}

class Answering : public RunCase {
 protected:
  Answering() {
    regard::testing::write_file(folder.path(), "train.json", questions(1, 300, false));
    regard::testing::write_file(folder.path(), "valid.json", questions(2, 40, false));
    std::filesystem::remove(folder / "run.toml");
    regard::testing::write_file(folder.path(), "run.toml", R"(task = "question-answering"
[data]
train = ["train.json"]
valid = ["valid.json"]
max_length = 40
[questions]
stride = 4
longest_answer = 3
[tokenizer]
type = "wordpiece"
vocab_size = 80
[model]
family = "bert"
layers = 2
hidden_size = 24
heads = 2
feed_forward_size = 48
activation = "gelu"
dropout = 0.0
[training]
learning_rate = 5e-3
schedule = "constant"
batch_size = 16
max_steps = 40
[validation]
every_steps = 20
metrics = ["f1", "exact_match"]
[output]
folder = "run"
checkpoint_every_steps = 7
)");
  }
};

TEST_F(Answering, AStepEqualsTransformers) {
  const regard::testing::Golden golden("tasks", "qa-step");
  Batch batch = batch_of(golden);
  for (std::int64_t i = 0; i < batch.sequences(); ++i)
    for (const char* name : {"start_positions", "end_positions"})
      batch.labels.push_back(static_cast<std::int32_t>(golden.tensor(name).i64()[i]));
  RunConfig config;
  config.task = "question-answering";
  const auto model = load_model(formats::ModelFolder::open(regard::testing::golden("hf-tiny/bert-qa")));
  expect_step(*make_task(config), *model, golden, batch);
}

// A sequence's loss and gradient do not depend on the other sequences.
TEST(SpanCrossEntropy, IsASumOverSequences) {
  ThreadPool pool(1);
  const auto run = [&pool](const std::vector<std::vector<float>>& sequences,
                           const std::vector<std::int32_t>& labels, std::vector<float>& gradient) {
    RaggedBuffer shape;
    std::vector<float> values;
    for (std::size_t s = 0; s < sequences.size(); ++s) {
      shape.add(std::ssize(sequences[s]) / 2, s);
      values.insert(values.end(), sequences[s].begin(), sequences[s].end());
    }
    Tensor logits = Tensor::empty({std::ssize(values) / 2, 2});
    std::copy(values.begin(), values.end(), logits.f32());
    Arena arena;
    Tape tape(pool, arena);
    tape.begin({.record = true});
    Var input = tape.input(logits, true);
    Var loss = ops::span_cross_entropy(tape, input, shape.view(), labels, 0.5f);
    const float value = loss->value.f32()[0];
    tape.backward(loss);
    gradient.assign(input->gradient.f32(), input->gradient.f32() + input->gradient.elements());
    return value;
  };
  std::vector<float> both, first, second;
  const float sum = run({{1, 2, 3, 4, 0, -1}, {2, 2}}, {1, 2, 0, 0}, both);
  EXPECT_NEAR(sum, run({{1, 2, 3, 4, 0, -1}}, {1, 2}, first) + run({{2, 2}}, {0, 0}, second), 1e-6);
  first.insert(first.end(), second.begin(), second.end());
  EXPECT_EQ(both, first);
  EXPECT_EQ(second, (std::vector<float>{0, 0})) << "one token has probability 1";
  std::vector<float> ignored;
  EXPECT_EQ(run({{1, 2, 3, 4}}, {-100, -100}, ignored), 0.0f);
  EXPECT_REGARD_ERROR(run({{1, 2, 3, 4}}, {2, 0}, ignored), ErrorKind::invalid_input, "span_cross_entropy");
}

// The answer's start is not known in the first sequence, its end not in the second.
TEST(SpanCrossEntropy, IgnoresOneLabelOfASequence) {
  constexpr std::int32_t kNone = -100;
  ThreadPool pool(1);
  RaggedBuffer shape;
  shape.add(3, 0), shape.add(2, 1);
  const std::int32_t labels[] = {kNone, 2, 1, kNone};
  const Tensor logits = Tensor::of({5, 2}, {1, 2, 3, 2, 0, 2, 2, 5, 1, 2});
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({.record = true});
  Var input = tape.input(logits, true);
  Var loss = ops::span_cross_entropy(tape, input, shape.view(), labels, 0.5f);
  // column 1 of the first sequence: three equal logits; column 0 of the second: logits 2 and 1, label 1
  EXPECT_NEAR(loss->value.f32()[0], 0.5 * (std::log(3.0) + std::log1p(std::exp(1.0))), 1e-6);
  tape.backward(loss);
  const double p = 1 / (1 + std::exp(-1.0));
  const double expected[] = {0, 1.0 / 6, 0, 1.0 / 6, 0, -1.0 / 3, p / 2, 0, -p / 2, 0};
  for (std::int64_t i = 0; i < 10; ++i) EXPECT_NEAR(input->gradient.f32()[i], expected[i], 1e-6) << i;
}

TEST(AnswerWindows, EqualTransformers) {
  const auto tokenizer = text::Tokenizer::load(regard::testing::golden("hf-more/bert-qa-stride"));
  const Json golden = read_json(regard::testing::golden("tasks/qa-windows.json").string());
  const auto context = golden["context"].get<std::string>();
  data::MarkedQuestion question{"q", golden["question"].get<std::string>(), 0, {}};
  int compared = 0;
  for (const Json& one : golden["cases"]) {
    const data::WindowSize size{one["length"].get<std::int64_t>(), one["stride"].get<std::int64_t>()};
    for (const Json& answer : one["answers"]) {
      question.answers = {{answer["text"].get<std::string>(), answer["start"].get<std::int64_t>()}};
      const std::vector<AnswerWindow> windows = answer_windows(*tokenizer, question, context, size);
      ASSERT_EQ(windows.size(), one["ids"].size());
      for (std::size_t w = 0; w < windows.size(); ++w) {
        EXPECT_EQ(Json(windows[w].window.ids), one["ids"][w]);
        EXPECT_EQ(Json::array({windows[w].start, windows[w].end}), answer["tokens"][w])
            << answer["text"] << " in window " << w << " of length " << size.length;
        compared += windows[w].start > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GE(compared, 20);
}

TEST(AnswerWindows, WithoutAnswerOrRoom) {
  const auto tokenizer = text::Tokenizer::load(regard::testing::golden("hf-more/bert-qa-stride"));
  std::string context = "stone";
  for (int i = 0; i < 30; ++i) context += " stone";
  const data::MarkedQuestion none{"q", "who ?", 0, {}}, marked{"q7", "who ?", 0, {{"stone", 0}}};
  for (const AnswerWindow& one : answer_windows(*tokenizer, none, context, {24, 8})) {
    EXPECT_EQ(one.start, 0);
    EXPECT_EQ(one.end, 0);
  }
  EXPECT_REGARD_ERROR(answer_windows(*tokenizer, marked, context, {12, 11}), ErrorKind::usage,
                      "question q7: a question of 2 tokens, windows of 12, stride 11");
}

TEST_F(Answering, LearnsAndOpensWithAnswer) {
  regard::testing::write_file(folder.path(), "some.json", questions(3, 400, true));
  const ProgramResult result = train({"--set", "data.train=some.json", "--set", "data.valid=some.json",
                                      "--set", "training.max_steps=3000", "--set",
                                      "training.learning_rate=2e-3", "--set", "validation.every_steps=0"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  Json last;
  for (const Json& line : log("run"))
    if (line.contains("validation")) last = line["validation"];
  EXPECT_GT(last["exact_match"], 80) << result.err;
  EXPECT_EQ(read_json((folder / "run/latest/config.json").string())["architectures"][0],
            "BertForQuestionAnswering");
  EXPECT_NE(result.err.find("next: regard answer"), std::string::npos);
  const ProgramResult evaluated =
      run_program({"evaluate", "run", "some.json", "--json", "-q"}, folder.path());
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_GT(Json::parse(evaluated.out)["exact_match"], 80) << evaluated.out;
}

TEST_F(Answering, QuestionsOfBothSplitsAreReported) {
  const std::string output = train({"--dry-run", "--set", "data.valid=train.json"}).out;
  EXPECT_NE(output.find("duplicates: 300 of 300 validation questions are also in the training data"),
            std::string::npos)
      << output;
  regard::testing::write_file(folder.path(), "other.json", R"({"data": [{"paragraphs": [{"context": "x y",
      "qas": [{"question": "how many apples has anna ?", "answers": []}]}]}]})");
  const std::string other = train({"--dry-run", "--set", "data.valid=other.json"}).out;
  EXPECT_NE(other.find("validation: 1 question,"), std::string::npos) << other;
  EXPECT_EQ(other.find("duplicates"), std::string::npos) << other;
}

TEST_F(Answering, EachFileHasTheFormatOfItsName) {
  std::string lines;
  const Json squad = Json::parse(questions(2, 40, true));
  for (const Json& paragraph : squad["data"][0]["paragraphs"]) {
    const Json& question = paragraph["qas"][0];
    Json row{{"context", paragraph["context"]}, {"question", question["question"]}};
    row["answers"] = {{"text", Json::array()}, {"answer_start", Json::array()}};
    for (const Json& answer : question["answers"])
      for (const auto& [key, value] : answer.items()) row["answers"][key].push_back(value);
    lines += row.dump() + "\n";
  }
  regard::testing::write_file(folder.path(), "valid.jsonl", lines);
  const ProgramResult result = train({"--set", "data.valid=valid.jsonl", "--set", "training.max_steps=2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("validation: 40 questions"), std::string::npos) << result.err;
  regard::testing::write_file(folder.path(), "valid.json.gz", regard::testing::gzip(questions(2, 40, false)));
  const ProgramResult evaluated = run_program({"evaluate", "run", "valid.json.gz", "--json"}, folder.path());
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_EQ(Json::parse(evaluated.out)["questions"], 40);
}

TEST_F(Answering, HasTheSameBitsForAnyThreadsAndAfterAKill) {
  expect_same_bits_for_threads_and_after_a_kill();
}

TEST_F(Answering, WrongDataIsRefused) {
  const auto refused = [this](const std::string& content, const char* message,
                              std::vector<std::string> more = {}) {
    regard::testing::write_file(folder.path(), "bad.json", content);
    std::vector<std::string> arguments{"--set", "data.valid=bad.json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = train(arguments);
    EXPECT_NE(result.exit_code, 0);
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(folder / "run"));
  };
  refused("{\"data\": [", "bad.json");
  refused("{\"dat\": []}", "bad.json");
  refused("{\"data\": []}", "no data is left to validate on");
  std::string moved = questions(2, 3, false);
  moved.replace(moved.find("\"text\":\""), 8, "\"text\":\"zz");
  refused(moved, "bad.json");
  refused(questions(2, 3, false), "'questions.stride' is not less", {"--set", "questions.stride=40"});
  refused(questions(2, 3, false), "the question is too long", {"--set", "data.max_length=12"});
}

}  // namespace
}  // namespace regard::train
