// embed, classify, answer and fill, called as by a user: one output line per input line, in order; JSON;
// attention output and ablated heads.
#include <gtest/gtest.h>

#include <sstream>
#include <tuple>

#include "base/json.h"
#include "formats/safetensors.h"
#include "support/golden.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;

std::string model(const std::string& name) {
  return golden(name).string();
}

std::vector<std::string> run_lines(const std::vector<std::string>& arguments, const std::string& input) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program(arguments, folder.path(), input);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return lines_of(result.out);
}

std::vector<Json> run_json(std::vector<std::string> arguments, const std::string& input) {
  arguments.emplace_back("--json");
  std::vector<Json> all;
  for (const std::string& line : run_lines(arguments, input)) all.push_back(parse_json(line, "stdout"));
  return all;
}

std::string joined(const Json& texts) {
  std::string lines;
  for (const Json& text : texts) lines += text.get<std::string>() + "\n";
  return lines;
}

TEST(EmbedCommand, WritesTheVectorsOfSentenceTransformers) {
  const Golden wanted("hf-more", "st-mean");
  const std::string input = joined(wanted.about()["texts"]);
  const Tensor vectors = wanted.tensor("sentence_embedding");
  const std::vector<Json> json = run_json({"embed", model("hf-more/st-mean")}, input);
  const std::vector<std::string> plain = run_lines({"embed", model("hf-more/st-mean"), "--quiet"}, input);
  ASSERT_EQ(static_cast<std::int64_t>(json.size()), vectors.rows());
  ASSERT_EQ(plain.size(), json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    EXPECT_EQ(json[i]["line"], i + 1);
    EXPECT_EQ(json[i]["input"], wanted.about()["texts"][i]);
    // these texts exceed 16 tokens
    EXPECT_EQ(json[i]["truncated"].get<bool>(), i == 1 || i + 1 == json.size());
    const auto numbers = json[i]["embedding"].get<std::vector<float>>();
    ASSERT_EQ(static_cast<std::int64_t>(numbers.size()), vectors.columns());
    std::istringstream words(plain[i]);
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      EXPECT_NEAR(static_cast<double>(numbers[k]),
                  static_cast<double>(vectors.row(static_cast<std::int64_t>(i))[k]), 2e-5);
      float number = 0;
      words >> number;
      EXPECT_EQ(number, numbers[k]) << "the two forms differ";
    }
  }
}

TEST(EmbedCommand, FindsTheLinesMostLikeAQuery) {
  const Golden wanted("hf-more", "st-cls");
  const Tensor similar = wanted.tensor("similarity");
  const std::string query = wanted.about()["texts"][1];
  const auto results = run_json({"embed", model("hf-more/st-cls"), "--query", query, "--top", "2"},
                                joined(wanted.about()["texts"]));
  ASSERT_EQ(results.size(), 1u);
  const Json& matches = results[0]["matches"];
  ASSERT_EQ(matches.size(), 2u);
  EXPECT_EQ(matches[0]["line"], 2) << "a text is most like itself";
  EXPECT_NEAR(matches[0]["similarity"].get<double>(), 1.0, 2e-5);
  std::int64_t next = 0;
  for (std::int64_t i = 1; i < similar.columns(); ++i)
    if (i != 1 && similar.row(1)[i] > similar.row(1)[next]) next = i;
  EXPECT_EQ(matches[1]["line"], next + 1);
  EXPECT_NEAR(matches[1]["similarity"].get<double>(), static_cast<double>(similar.row(1)[next]), 2e-5);
}

TEST(EmbedCommand, WritesSimilaritiesAndATensorFile) {
  const Golden wanted("hf-more", "st-mean");
  const TemporaryFolder folder;
  const std::string input = joined(wanted.about()["texts"]);
  const ProgramResult result =
      run_program({"embed", model("hf-more/st-mean"), "--similarity", "--json", "-o", "out.safetensors"},
                  folder.path(), input);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> rows = lines_of(result.out);
  const Tensor similar = wanted.tensor("similarity");
  ASSERT_EQ(static_cast<std::int64_t>(rows.size()), similar.rows());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = parse_json(rows[i], "stdout")["similarities"].get<std::vector<double>>();
    for (std::size_t k = 0; k < row.size(); ++k)
      EXPECT_NEAR(row[k], static_cast<double>(similar.row(static_cast<std::int64_t>(i))[k]), 2e-5);
  }
  const auto file = formats::SafetensorsFile::open(folder / "out.safetensors");
  expect_close(file->tensor("embeddings"), wanted.tensor("sentence_embedding"), 2e-5, 1.0, "embeddings");
}

TEST(TaskCommands, LookIntoEveryLineAndSwitchHeadsOff) {
  const TemporaryFolder folder;
  struct Case {
    std::string verb, model, input;
  };
  for (const Case& c : {Case{"embed", "hf-more/st-mean", "Water on new day?\nGreen.\n"},
                        Case{"classify", "hf-more/bert-multilabel", "Water on new day?\nGreen.\n"},
                        Case{"answer", "hf-more/bert-qa-stride", "who?\tWater on new day.\nwhat?\tGreen.\n"},
                        Case{"tag", "hf-more/bert-ner", "Writes bird slowland.\nGreen.\n"},
                        Case{"fill", "tasks/roberta-fill", "the <mask> sings\n<mask> Green.\n"}}) {
    SCOPED_TRACE(c.verb);
    const auto run = [&](std::vector<std::string> more) {
      std::vector<std::string> arguments{c.verb, model(c.model), "--quiet"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      const ProgramResult result = run_program(arguments, folder.path(), c.input);
      EXPECT_EQ(result.exit_code, 0) << result.err;
      return result.out;
    };
    const std::string plain = run({});
    EXPECT_EQ(run({"--attend", "seen.jsonl"}), plain) << "looking changed the result";
    const std::vector<std::string> views = lines_of(file_content(folder / "seen.jsonl"));
    ASSERT_EQ(views.size(), 2u);
    EXPECT_EQ(lines_of(plain).size(), 2u);
    EXPECT_FALSE(parse_json(views[1], "seen")["text"].get<std::string>().empty());
    const std::string ablated = run({"--ablate", "0.1,1.2"});
    EXPECT_NE(ablated, plain);
    EXPECT_EQ(run({"--intervene", "zero encoder.0.1", "--intervene", "zero encoder.1.2"}), ablated);
    const std::vector<std::string> changed{"--intervene", "uniform encoder.0.1", "--intervene",
                                           "zero encoder.1"};
    const std::string unseen = run(changed);
    EXPECT_NE(unseen, plain);
    std::vector<std::string> looking = changed;
    looking.insert(looking.end(), {"--attend", "changed.jsonl"});
    EXPECT_EQ(run(looking), unseen) << "looking changed the result of a changed pass";
    const std::vector<std::string> lines = lines_of(file_content(folder / "changed.jsonl"));
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(parse_json(lines[0], "changed")["interventions"].size(), 2u);
  }
}

TEST(ClassifyCommand, LabelsTextsPairsAndImages) {
  const Json wanted = read_json(golden("tasks/classes.json").string());
  for (const Json& one : wanted["cases"]) {
    if (one["options"] != Json{{"top_k", nullptr}}) continue;
    const Json& text = one["text"];
    std::vector<std::string> arguments{"classify", model(one["model"]), "--top", "0"};
    std::string input = text.is_array() ? text[0].get<std::string>() + "\t" + text[1].get<std::string>()
                                        : text.get<std::string>();
    if (text.is_array()) arguments.emplace_back("--pair");
    const auto results = run_json(arguments, input + "\n");
    ASSERT_EQ(results.size(), 1u);
    ASSERT_EQ(results[0]["labels"].size(), one["labels"].size());
    for (std::size_t i = 0; i < one["labels"].size(); ++i) {
      EXPECT_EQ(results[0]["labels"][i]["label"], one["labels"][i]["label"]);
      EXPECT_NEAR(results[0]["labels"][i]["score"].get<double>(), one["labels"][i]["score"].get<double>(),
                  2e-5);
    }
  }
}

// Classify images with hf-tiny/vit, given as arguments and as a list on standard input. The results equal the
// golden outputs.
TEST(ClassifyCommand, ReadsImagesByNameAndAsAList) {
  const TemporaryFolder folder;
  fs::copy(golden("hf-tiny/vit"), folder / "vit", fs::copy_options::recursive);
  fs::permissions(folder / "vit", fs::perms::owner_all, fs::perm_options::add);
  fs::copy(golden("tasks/preprocessor_config.json"), folder / "vit/preprocessor_config.json");
  const std::string fine = golden("tasks/fine.jpg").string(), grey = golden("tasks/grey.png").string();
  const ProgramResult named =
      run_program({"classify", "vit", fine, grey, "--json", "--attend", "seen.jsonl"}, folder.path());
  ASSERT_EQ(named.exit_code, 0) << named.err;
  const ProgramResult listed =
      run_program({"classify", "vit", "--json"}, folder.path(), fine + "\n" + grey + "\n");
  EXPECT_EQ(listed.out, named.out);
  EXPECT_EQ(lines_of(file_content(folder / "seen.jsonl")).size(), 2u);
  const Json wanted = read_json(golden("tasks/images.json").string());
  const std::vector<std::string> results = lines_of(named.out);
  ASSERT_EQ(results.size(), 2u);
  for (const Json& one : wanted["cases"]) {
    const bool first = one["file"] == "fine.jpg";
    if (!first && one["file"] != "grey.png") continue;
    EXPECT_EQ(parse_json(results[first ? 0 : 1], "stdout")["labels"][0]["label"], one["labels"][0]["label"]);
  }
  const ProgramResult ablated =
      run_program({"classify", "vit", fine, "--json", "--ablate", "0.0"}, folder.path());
  EXPECT_EQ(ablated.exit_code, 0) << ablated.err;
  EXPECT_NE(ablated.out, results[0] + "\n");
}

TEST(AnswerCommand, AnswersLinesAndQuestionsToOneFile) {
  const TemporaryFolder folder;
  const std::string text = "Maria sings near the old river.", question = "who sings?";
  write_file(folder.path(), "text", text);
  const std::string folder_of_model = model("hf-more/bert-qa-stride");
  const ProgramResult pair = run_program({"answer", folder_of_model, "--json", "--top", "2"}, folder.path(),
                                         question + "\t" + text + "\n\n");
  const ProgramResult file =
      run_program({"answer", folder_of_model, "--json", "--top", "2", "--text", "text"}, folder.path(),
                  question + "\n\n");
  ASSERT_EQ(pair.exit_code, 0) << pair.err;
  EXPECT_EQ(pair.out, file.out);
  const std::vector<std::string> results = lines_of(pair.out);
  ASSERT_EQ(results.size(), 2u) << "an empty line has a result of its own";
  const Json answers = parse_json(results[0], "stdout")["answers"];
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(text.substr(answers[0]["begin"].get<std::size_t>(),
                        answers[0]["end"].get<std::size_t>() - answers[0]["begin"].get<std::size_t>()),
            answers[0]["answer"].get<std::string>());
  EXPECT_TRUE(parse_json(results[1], "stdout")["answers"].empty());
}

TEST(TagCommand, TagsTokensEntitiesAndWordsOfEveryLine) {
  const Json golden = read_json((testing::golden("hf-more/bert-ner") / "case.json").string());
  const std::string text = golden["texts"][2], folder_of_model = model("hf-more/bert-ner");
  const auto results = run_json({"tag", folder_of_model, "--aggregation", "simple"}, "\n" + text + "\n");
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[0]["tags"].empty());
  const Json& wanted = golden["pipeline"]["simple"][2];
  ASSERT_EQ(results[1]["tags"].size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Json& tag = results[1]["tags"][i];
    EXPECT_EQ(tag["label"], wanted[i]["entity_group"]);
    EXPECT_EQ(tag["word"], wanted[i]["word"]);
    EXPECT_EQ(tag["begin"], wanted[i]["start"]);
    EXPECT_EQ(tag["end"], wanted[i]["end"]);
    EXPECT_NEAR(tag["score"].get<double>(), wanted[i]["score"].get<double>(), 2e-5);
    EXPECT_FALSE(tag.contains("index"));
  }
  const TemporaryFolder folder;
  const ProgramResult plain = run_program({"tag", folder_of_model}, folder.path(), text + "\n");
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  const Json& first = golden["pipeline"]["none"][2][0];
  EXPECT_EQ(plain.out.substr(0, plain.out.find('\t')), first["word"]);
  const auto words = run_json({"tag", folder_of_model, "--words", "--ignore", ""}, "bird  slowland.\n");
  ASSERT_EQ(words[0]["tags"].size(), 4u) << words[0];
  EXPECT_EQ(words[0]["tags"][1]["begin"], 5) << "words are joined by one space";
  EXPECT_EQ(words[0]["tags"][0]["index"], 1);
}

TEST(FillCommand, FillsMasksOfEveryLine) {
  const Json wanted = read_json(golden("tasks/fill.json").string());
  std::string input;
  std::vector<const Json*> cases;
  for (const Json& one : wanted["cases"])
    if (one["model"] == "tasks/roberta-fill" && one["options"] == Json{{"top_k", 5}}) {
      input += one["text"].get<std::string>() + "\n\n";
      cases.push_back(&one);
    }
  const auto results = run_json({"fill", model("tasks/roberta-fill")}, input);
  ASSERT_EQ(results.size(), 2 * cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_TRUE(results[2 * i + 1]["masks"].empty()) << "nothing stands in an empty line";
    const Json &masks = results[2 * i]["masks"], &golden_masks = (*cases[i])["masks"];
    ASSERT_EQ(masks.size(), golden_masks.size());
    for (std::size_t m = 0; m < masks.size(); ++m)
      for (std::size_t k = 0; k < 5; ++k) EXPECT_EQ(masks[m][k]["sequence"], golden_masks[m][k]["sequence"]);
  }
  const auto few = run_lines({"fill", model("tasks/roberta-fill"), "--targets", "river,who", "--top", "9"},
                             "the <mask> sings.\n");
  ASSERT_EQ(few.size(), 1u);
  EXPECT_EQ(std::count(few[0].begin(), few[0].end(), '\t'), 3) << few[0];
}

// translate and generate: --attend does not change their output, --ablate does.
TEST(WritingCommands, LookIntoEveryLineAndSwitchHeadsOff) {
  const TemporaryFolder folder;
  write_text_model(folder / "translator", "translator");
  write_text_model(folder / "gpt", "gpt");
  for (const auto& [verb, model_name, head] :
       {std::tuple{"translate", "translator", "0.0,encoder.1.1,cross.1.0"},
        std::tuple{"generate", "gpt", "0.0,1.1"}}) {
    const auto run = [&, verb = std::string(verb),
                      name = std::string(model_name)](std::vector<std::string> more) {
      std::vector<std::string> arguments{verb, name, "--json", "--max-new", "8"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      const ProgramResult result = run_program(arguments, folder.path(), "the quick fox\n\na lazy dog\n");
      EXPECT_EQ(result.exit_code, 0) << result.err;
      return result.out;
    };
    const std::string plain = run({});
    EXPECT_EQ(run({"--attend", "seen.jsonl"}), plain) << "looking changed the result";
    const std::vector<std::string> views = lines_of(file_content(folder / "seen.jsonl"));
    ASSERT_EQ(views.size(), 3u);
    EXPECT_EQ(views[1], "") << "nothing is seen in an empty line";
    const Json view = parse_json(views[2], "seen");
    EXPECT_EQ(view["text"], "a lazy dog");
    EXPECT_NE(run({"--ablate", head}), plain);
    EXPECT_EQ(run_program({verb, model_name, "--ablate", "9.0"}, folder.path(), "x\n").exit_code, 2);
  }
  EXPECT_EQ(run_program({"generate", "gpt", "--prompt", "the fox", "--attend", "one.jsonl", "--max-new", "4"},
                        folder.path())
                .exit_code,
            0);
  EXPECT_EQ(lines_of(file_content(folder / "one.jsonl")).size(), 1u);
}

// Lines that are available are batched. A line that arrives alone gets its result before the next one.
TEST(TaskCommands, AnswersALineBeforeTheNextOneComes) {
  const TemporaryFolder folder;
  const std::string script =
      "( echo 'Green.'; i=0; while [ ! -s out ] && [ $i -lt 300 ]; do sleep 0.05; i=$((i+1)); "
      "done; [ $i -lt 300 ] && echo 'Water.' ) | '" +
      std::string(program_path()) + "' embed '" + model("hf-more/st-mean") + "' > out";
  ASSERT_EQ(std::system(("cd '" + folder.path().string() + "' && " + script).c_str()), 0);
  EXPECT_EQ(lines_of(file_content(folder / "out")).size(), 2u);
}

// The model generates one token more than it has positions. This token was never an input, so the capture
// ends before it.
TEST(Probes, ACaptureEndsAtTheLastPosition) {
  const TemporaryFolder folder;
  write_text_model(folder / "gpt", "gpt", 16);
  write_text_model(folder / "llama", "llama");
  const auto tokens = [&](const char* model, const char* most) {
    const ProgramResult result = run_program({"generate", model, "--prompt", "the fox", "--attend", "a.jsonl",
                                              "--max-new", most, "--min-new", most, "--json"},
                                             folder.path());
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const Json capture = parse_json(file_content(folder / "a.jsonl"), "a.jsonl");
    EXPECT_EQ(capture["prompt_tokens"], 7);
    return std::pair(parse_json(result.out, "out")["hypotheses"][0]["tokens"].get<std::size_t>(),
                     capture["tokens"]["target"]["text"].size());
  };
  EXPECT_EQ(tokens("gpt", "99"), std::pair(std::size_t{99}, std::size_t{16}));
  EXPECT_EQ(tokens("gpt", "9"), std::pair(std::size_t{9}, std::size_t{16}));
  EXPECT_EQ(tokens("gpt", "8"), std::pair(std::size_t{8}, std::size_t{15}));
  EXPECT_EQ(tokens("llama", "40"), std::pair(std::size_t{40}, std::size_t{47}));
}

}  // namespace
}  // namespace regard::testing
