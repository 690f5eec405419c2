// regard study and --intervene, called as by a user.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

using testing::run_program;

class StudyProgram : public ::testing::Test {
 protected:
  StudyProgram() {
    testing::write_text_model(folder_ / "gpt", "gpt", 64);
    testing::write_text_model(folder_ / "translator", "translator");
    testing::write_file(folder_.path(), "lines.txt", "the quick fox\nan apple a day\n");
    testing::write_file(folder_.path(), "pairs.tsv", "the fox\ta fox\nan apple\tan egg\n");
  }
  testing::ProgramResult study(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "study");
    return run_program(arguments, folder_.path());
  }
  Json table(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const testing::ProgramResult result = study(std::move(arguments));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.exit_code == 0 ? parse_json(result.out, "out") : Json::object();
  }
  testing::TemporaryFolder folder_;
};

TEST_F(StudyProgram, EveryViewOfADecoderIsATable) {
  for (const std::string view : {"heads", "sets", "kinds", "induction", "lens", "direct", "patch", "path",
                                 "flip", "tokens", "rollout", "flow"}) {
    std::vector<std::string> arguments{"gpt", "--view", view};
    if (view == "heads" || view == "sets" || view == "kinds")
      arguments.emplace_back("lines.txt");
    else if (view != "induction")
      arguments.insert(arguments.end(), {"--text", "the fox"});
    if (view == "sets") arguments.insert(arguments.end(), {"--most", "2"});
    if (view == "direct" || view == "patch" || view == "path" || view == "flip" || view == "tokens")
      arguments.insert(arguments.end(), {"--answer", "a", "--instead", "b"});
    if (view == "patch" || view == "path") arguments.insert(arguments.end(), {"--other", "the cat"});
    const Json json = table(arguments);
    EXPECT_EQ(json["study"], view);
    EXPECT_GT(json["rows"].size(), view == "flip" ? 0u : 1u) << view;
    for (const Json& row : json["rows"]) EXPECT_EQ(row.size(), json["columns"].size()) << view;
  }
}

TEST_F(StudyProgram, FlipWithoutAnAnswerComparesWithEveryOtherToken) {
  const Json json = table({"gpt", "--view", "flip", "--text", "the fox", "--instead", "b", "--most", "2"});
  EXPECT_TRUE(json["title"].get<std::string>().find("highest other logit minus logit of 'b'") !=
              std::string::npos)
      << json;
  const Json already =
      table({"gpt", "--view", "flip", "--text", "the fox", "--answer", "b", "--instead", "b"});
  EXPECT_EQ(already["rows"].size(), 0u);
  EXPECT_NE(already["notes"].dump().find("no head is ablated"), std::string::npos) << already;
}

// The loss in the row of a head equals the loss of the whole model when this head is ablated.
TEST_F(StudyProgram, TheLossWithoutAHeadIsThatOfTheModelWithTheHeadOff) {
  const Json json = table({"translator", "pairs.tsv"});
  ASSERT_EQ(json["rows"].size(), 24u);  // 2 layers of 4 heads of each kind
  for (const std::size_t row : {0u, 11u, 23u}) {
    const std::string head = json["rows"][row]["head"];
    const Json without = table({"translator", "pairs.tsv", "--off", head});
    EXPECT_EQ(without["rows"].size(), 23u);
    const double loss = json["rows"][row]["loss"];
    const std::string title = without["title"];
    EXPECT_NE(title.find(fmt::format("{:.4f} nats", loss)), std::string::npos) << title << " " << loss;
  }
}

TEST_F(StudyProgram, AnInterruptedSweepContinuesFromItsFile) {
  const Json whole = table({"translator", "pairs.tsv", "--state", "state.jsonl"});
  std::string state = read_file((folder_ / "state.jsonl").string());
  // Truncate the state within the line after the tenth head, and change the loss of the first head, so that
  // the test detects whether this head is computed again.
  std::size_t end = 0;
  for (int line = 0; line < 10; ++line) end = state.find('\n', end) + 1;
  state = state.substr(0, end);
  const std::size_t first = state.find("\"loss\":") + 7;
  state.replace(first, state.find('}', first) - first, "123.5");
  testing::write_file(folder_.path(), "state.jsonl", state + "{\"head\":\"cro");
  const Json continued = table({"translator", "pairs.tsv", "--state", "state.jsonl"});
  EXPECT_EQ(continued["rows"].size(), whole["rows"].size());
  EXPECT_EQ(continued["rows"][0]["loss"], 123.5) << "the head in the file is computed again";
  testing::write_file(folder_.path(), "other.tsv", "the fox\tthe egg\n");
  const auto other = study({"translator", "other.tsv", "--state", "state.jsonl"});
  EXPECT_NE(other.exit_code, 0);
  EXPECT_NE(other.err.find("another sweep"), std::string::npos) << other.err;
}

TEST_F(StudyProgram, AnInterruptedChoiceOfSetsContinuesFromItsFile) {
  const std::vector<std::string> arguments{"translator", "pairs.tsv", "--view", "sets", "--most", "2"};
  const auto with_state = [&] {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"--state", "state.jsonl"});
    return table(std::move(all));
  };
  const Json whole = table(arguments);
  EXPECT_EQ(with_state(), whole);
  const std::string state = read_file((folder_ / "state.jsonl").string());
  // Simulate an interruption of the second step after four heads. The loss of its first head is changed,
  // which shows that this loss is not computed again.
  const std::size_t added = state.find("\"added\":");
  ASSERT_NE(added, state.npos);
  const std::size_t second = state.rfind('\n', added) + 1;
  std::size_t end = second;
  for (int line = 0; line < 4; ++line) end = state.find('\n', end) + 1;
  std::string part = state.substr(0, end);
  const std::size_t loss = part.find("\"loss\":", second) + 7;
  part.replace(loss, part.find_first_of(",}", loss) - loss, "123.5");
  testing::write_file(folder_.path(), "state.jsonl", part);
  const Json continued = with_state();
  EXPECT_EQ(continued["rows"][0], whole["rows"][0]);
  EXPECT_EQ(continued["rows"][1]["loss"], 123.5);
  const Json heads = table({"translator", "pairs.tsv", "--state", "state.jsonl"});
  EXPECT_EQ(heads["rows"], table({"translator", "pairs.tsv"})["rows"])
      << "losses of the second step were used";
}

// The first difference in the file is changed, which shows that this difference is not computed again.
TEST_F(StudyProgram, InterruptedPatchesAndFlipsContinueFromTheirFile) {
  const std::vector<std::string> text{"--text", "the fox", "--answer", "a", "--instead", "b"};
  const auto arguments_of = [&](const std::string& view) {
    std::vector<std::string> arguments{"gpt", "--view", view};
    if (view == "flip") arguments.insert(arguments.end(), {"--most", "8"});
    arguments.insert(arguments.end(), text.begin(), text.end());
    if (view != "flip") arguments.insert(arguments.end(), {"--other", "the cat"});
    return arguments;
  };
  for (const std::string view : {"patch", "path", "flip"}) {
    std::vector<std::string> arguments = arguments_of(view);
    const Json plain = table(arguments);
    arguments.insert(arguments.end(), {"--state", view});
    EXPECT_EQ(table(arguments), plain) << view;
    std::string state = file_content(folder_ / view);
    std::size_t end = 0;
    for (int line = 0; line < 4; ++line) end = state.find('\n', end) + 1;
    ASSERT_GT(end, 0u) << state;
    testing::write_file(folder_.path(), view, state.substr(0, end) + "{\"dif");
    EXPECT_EQ(table(arguments), plain) << view;
    EXPECT_EQ(file_content(folder_ / view), state) << view;
    const std::size_t first = state.find("\"difference\":") + 13;
    state.replace(first, state.find_first_of(",}", first) - first, "-123.5");
    testing::write_file(folder_.path(), view, state);
    const Json changed = table(arguments);
    EXPECT_NE(changed.dump().find("-123.5"), std::string::npos) << view << " " << changed;
    arguments[arguments.size() - (view == "flip" ? 7 : 9)] = "the dog";  // another text
    const auto other = study(arguments);
    EXPECT_EQ(other.exit_code, 2) << view;
    EXPECT_NE(other.err.find("another sweep"), std::string::npos) << view << " " << other.err;
  }
  const auto refused = study({"gpt", "lines.txt", "--view", "kinds", "--state", "kinds"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("--state does not apply to --view kinds"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "kinds"));
}

TEST_F(StudyProgram, WritesCsvAndSvg) {
  const auto result = study({"gpt", "lines.txt", "--csv", "t.csv", "--svg", "t.svg"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string csv = read_file((folder_ / "t.csv").string()),
                    svg = read_file((folder_ / "t.svg").string());
  EXPECT_TRUE(csv.starts_with("head,kind,share,entropy,distance,loss,lost\r\n")) << csv;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 9);
  EXPECT_TRUE(svg.starts_with("<svg") || svg.starts_with("<?xml")) << svg.substr(0, 60);
}

TEST_F(StudyProgram, OptionsThatTheViewDoesNotReadAreRefused) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"lines.txt", "--most", "3"}, "--most does not apply to --view heads (expected --view sets, flip)"},
      {{"lines.txt", "--view", "kinds", "--answer", "a"}, "--answer does not apply to --view kinds"},
      {{"lines.txt", "--view", "lens"}, "DATA does not apply to --view lens"},
      {{"--text", "a b", "--view", "probe"}, "--text does not apply to --view probe"},
      {{"--text", "a b", "--view", "flow", "--other-target", "a"}, "--other-target does not apply"},
      {{"lines.txt", "--text", "a b"}, "DATA"},
      {{"--text", "a b", "--examples", "3"}, "DATA"},
  };
  for (const auto& [options, part] : cases) {
    std::vector<std::string> arguments{"gpt"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const auto result = study(arguments);
    EXPECT_EQ(result.exit_code, 2) << part;
    EXPECT_NE(result.err.find(part), std::string::npos) << part << ": " << result.err;
  }
}

TEST_F(StudyProgram, BadRequestsAreRefusedWithARemedy) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"gpt"}, "--text"},
      {{"gpt", "--view", "patch", "--text", "a b", "--answer", "a"}, "--other"},
      {{"gpt", "--view", "patch", "--text", "a b", "--answer", "a", "--other", "a bcd"},
       "different numbers of tokens"},
      {{"gpt", "--view", "direct", "--text", "a b", "--answer", "a", "--position", "99"}, "0 to 2"},
      {{"gpt", "--view", "direct", "--text", "a b"}, "--answer"},
      {{"gpt", "lines.txt", "--answer", "zzz"}, "does not contain the answer"},
      {{"gpt", "lines.txt", "--off", "9.9"}, "layers 0 to 1"},
      {{"translator", "--view", "induction"}, "decoder"},
      {{"gpt", "--view", "induction", "--length", "60"}, "at most 64"},
      {{"gpt", "--view", "probe", "lines.txt"}, "no label"},
      {{"gpt", "--view", "flip", "--text", "a b", "--answer", "a"}, "--instead"},
  };
  for (const auto& [arguments, part] : cases) {
    const auto result = study(arguments);
    EXPECT_NE(result.exit_code, 0) << part;
    EXPECT_NE(result.err.find(part), std::string::npos) << part << ": " << result.err;
  }
}

// A head set to zero by --ablate or by --intervene gives the same text, in every command that generates.
TEST_F(StudyProgram, InterveneIsTakenByTheCommands) {
  const auto run = [&](std::vector<std::string> arguments) {
    const auto result = run_program(arguments, folder_.path(), "the fox\n");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  for (const std::string verb : {"translate", "generate"}) {
    const std::string model = verb == "translate" ? "translator" : "gpt",
                      head = verb == "translate" ? "cross.1.0" : "decoder.0.0";
    const std::vector<std::string> base{verb, model, "--max-new", "12", "--json", "--log-probabilities"};
    auto ablated = base, zero = base, uniform = base;
    ablated.insert(ablated.end(), {"--ablate", head});
    zero.insert(zero.end(), {"--intervene", "zero " + head});
    uniform.insert(uniform.end(), {"--intervene", "uniform " + head, "--intervene", "zero decoder.1"});
    EXPECT_EQ(run(zero), run(ablated)) << verb;
    EXPECT_NE(run(uniform), run(base)) << verb;
  }
  const Json view =
      parse_json(run({"attend", "gpt", "the fox", "--intervene", "uniform decoder.0.0", "--json"}), "out");
  EXPECT_EQ(view["interventions"][0],
            Json({{"kind", "uniform"}, {"at", "decoder.0.0"}, {"detail", "uniform decoder.0.0"}}));
}

}  // namespace
}  // namespace regard::testing
