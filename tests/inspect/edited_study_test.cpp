// A study under interventions is the same study of a changed model: ablating heads by an intervention gives
// the tables of a model whose weights do not use these heads.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "inspect/study_data.h"
#include "inspect/study_views.h"
#include "support/changed_model.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using inspect::StudyRequest;
using inspect::StudyTable;

class EditedStudy : public ::testing::Test {
 protected:
  EditedStudy() {
    write_text_model(folder_ / "gpt", "gpt", 64);
    write_text_model(folder_ / "translator", "translator");
    write_file(folder_.path(), "lines.txt", "the quick fox\nan apple a day\n");
    write_file(folder_.path(), "pairs.tsv", "the fox\ta fox\nan apple\tan egg\n");
    write_file(folder_.path(), "links", "0-0 1-1\n0-0\n");
    std::string labelled;
    for (const char* text :
         {"fox", "dog", "the cat", "a fox", "the dog", "quick", "lazy", "over", "jumps", "brown"})
      labelled += std::string(text) + "\t" + (labelled.size() % 2 == 0 ? "even" : "odd") + "\n";
    write_file(folder_.path(), "labelled.tsv", labelled);
  }

  infer::LoadedModel open(const std::string& name) {
    return infer::LoadedModel::open((folder_ / name).string(), WeightMode::widened);
  }

  // Return the model with zeros in the columns of the output projections that read these heads.
  infer::LoadedModel without(const std::string& name, const std::map<std::string, std::int64_t>& heads) {
    std::size_t changed = 0;
    copy_changed_model(folder_ / name, folder_ / "changed",
                       [&](const std::string& weight, const Tensor& value) {
                         const auto found = heads.find(weight);
                         if (found == heads.end()) return;
                         ++changed;
                         remove_head(value, 4, found->second);
                       });
    EXPECT_EQ(changed, heads.size());
    return open("changed");
  }

  StudyTable table(const infer::LoadedModel& model, const StudyRequest& request) {
    return inspect::study_table(model, pool_, request, 1, {});
  }

  StudyRequest request_of(const std::string& view, bool translator) const {
    StudyRequest request;
    request.view = view, request.steps = 3, request.most = 2, request.length = 6, request.sequences = 2;
    if (view == "probe" || view == "alignment" || view == "heads" || view == "sets" || view == "kinds") {
      const char* const file = view == "probe" ? "labelled.tsv" : translator ? "pairs.tsv" : "lines.txt";
      request.data.files = {(folder_ / file).string()};
      request.alignments = (folder_ / "links").string();
      return request;
    }
    if (view == "induction") return request;
    request.text = "the quick fox";  // the translator generates the target
    request.instead = "b";
    if (view == "patch" || view == "path") request.other = "the brown fox";
    if (translator && (view == "patch" || view == "path")) request.target = "a fox";
    if (view == "patch" || view == "path" || view == "tokens" || view == "direct") request.answer = "a";
    return request;
  }

  static void expect_equal(const StudyTable& found, const StudyTable& expected) {
    EXPECT_EQ(found.title, expected.title);
    ASSERT_EQ(found.rows.size(), expected.rows.size());
    for (std::size_t row = 0; row < found.rows.size(); ++row)
      for (std::size_t column = 0; column < found.rows[row].size(); ++column) {
        const inspect::StudyCell &a = found.rows[row][column], &b = expected.rows[row][column];
        if (std::holds_alternative<std::string>(a)) {
          EXPECT_EQ(a, b) << row << " " << found.columns[column];
        } else {
          EXPECT_NEAR(std::get<double>(a), std::get<double>(b), 1e-5) << row << " " << found.columns[column];
        }
      }
  }

  void expect_study_of_the_changed_model(const std::string& name, const infer::LoadedModel& changed,
                                         const std::vector<std::string>& interventions,
                                         const std::set<std::string>& views) {
    const infer::LoadedModel whole = open(name);
    for (const std::string& view : views) {
      SCOPED_TRACE(view);
      StudyRequest request = request_of(view, name == "translator");
      const StudyTable before = table(whole, request), expected = table(changed, request);
      request.interventions = interventions;
      const StudyTable found = table(whole, request);
      expect_equal(found, expected);
      EXPECT_TRUE(found.warnings.empty());
      EXPECT_NE(found.notes.back().find(interventions[0]), std::string::npos);
      if (view != "probe" && view != "alignment" && view != "flip") {
        EXPECT_FALSE(found.title == before.title && found.rows == before.rows);
      }
    }
  }

  TemporaryFolder folder_;
  ThreadPool pool_{2};
};

TEST_F(EditedStudy, OfADecoderIsThatOfTheChangedModel) {
  const infer::LoadedModel changed = without("gpt", {{"decoder.layers.0.self_attention.output.weight", 1}});
  expect_study_of_the_changed_model("gpt", changed, {"zero decoder.0.1"},
                                    {"heads", "sets", "flip", "kinds", "induction", "lens", "direct", "patch",
                                     "path", "tokens", "rollout", "flow", "probe"});
}

TEST_F(EditedStudy, OfATranslatorIsThatOfTheChangedModel) {
  const infer::LoadedModel changed =
      without("translator", {{"encoder.layers.0.self_attention.output.weight", 2},
                             {"decoder.layers.0.cross_attention.output.weight", 1}});
  expect_study_of_the_changed_model("translator", changed, {"zero encoder.0.2", "zero cross.0.1"},
                                    {"heads", "sets", "flip", "kinds", "lens", "direct", "patch", "path",
                                     "tokens", "rollout", "flow", "probe", "alignment"});
}

// If an intervention replaces the output of an attention layer, direct attribution does not divide it among
// heads.
TEST_F(EditedStudy, DirectAttributionShowsAChangedOutputAsOneComponent) {
  const infer::LoadedModel model = open("gpt");
  StudyRequest request = request_of("direct", false);
  request.interventions = {"zero decoder.1"};
  const StudyTable found = table(model, request);
  std::size_t rows = 0;
  for (const std::vector<inspect::StudyCell>& row : found.rows) {
    const std::string component = std::get<std::string>(row[0]);
    EXPECT_FALSE(component.starts_with("decoder.1.0")) << component;
    if (component != "decoder.1.self" && component != "decoder.1.feed_forward") continue;
    ++rows;
    EXPECT_NEAR(std::get<double>(row[1]), 0.0, 1e-6);
  }
  EXPECT_EQ(rows, 2u);
}

TEST_F(EditedStudy, PlacesThatAViewCannotChangeAreNamed) {
  const infer::LoadedModel model = open("gpt");
  for (const char* view : {"lens", "direct"}) {
    StudyRequest request = request_of(view, false);
    request.interventions = {"zero decoder.output"};
    EXPECT_REGARD_ERROR(table(model, request), ErrorKind::usage, "decoder.output");
  }
  StudyRequest direct = request_of("direct", false);
  direct.interventions = {"zero decoder.0.residual positions=0"};
  EXPECT_REGARD_ERROR(table(model, direct), ErrorKind::usage, "decoder.0.residual");
  StudyRequest lens = request_of("lens", false);
  lens.interventions = direct.interventions;
  EXPECT_EQ(table(model, lens).warnings.size(), 0u);
}

// An error in a line of texts= names the file and the line.
TEST_F(EditedStudy, AnErrorInATextOfAnInterventionIsPlaced) {
  const auto texts = write_file(folder_.path(), "texts.txt", "a fox\n" + std::string(100, 'a') + "\n");
  StudyRequest request = request_of("lens", false);
  request.interventions = {"mean decoder.0.1 texts=" + texts.string()};
  EXPECT_REGARD_ERROR(table(open("gpt"), request), ErrorKind::invalid_input, texts.string() + ":2");
}

// The errors for empty files name the file and what to write into it.
TEST_F(EditedStudy, EmptyFilesAreRefusedWithARemedy) {
  const std::string empty = write_file(folder_.path(), "empty.txt", "\n \n").string();
  const infer::LoadedModel model = open("gpt");
  StudyRequest request = request_of("lens", false);
  request.interventions = {"mean decoder.0.1 texts=" + empty};
  EXPECT_REGARD_ERROR(table(model, request), ErrorKind::invalid_input,
                      empty + ": the file has no inputs. Write one input per line");
  EXPECT_REGARD_ERROR(inspect::read_examples(model, pool_, {.files = {empty}}), ErrorKind::invalid_input,
                      empty + ": the file has no texts. Write one text per line, or give another file");
}

// A decoder has no targets: a tab in its data is part of the text.
TEST_F(EditedStudy, ADecoderReadsTheWholeLine) {
  const infer::LoadedModel model = open("gpt");
  const auto file = write_file(folder_.path(), "tabs.txt", "a fox\tthe dog\n");
  const auto examples = inspect::read_examples(model, pool_, {.files = {file.string()}});
  ASSERT_EQ(examples.size(), 1u);
  EXPECT_EQ(examples[0].text, "a fox\tthe dog");
  EXPECT_EQ(examples[0].input.target, model.read("a fox\tthe dog").ids);
  StudyRequest request = request_of("lens", false);
  request.target = "the dog";
  EXPECT_REGARD_ERROR(table(model, request), ErrorKind::usage, "target");
}

TEST_F(EditedStudy, InductionNeedsATextWithTokens) {
  StudyRequest request = request_of("induction", false);
  request.text = " ";
  const auto model =
      infer::LoadedModel::open(golden("convert/llama/converted").string(), WeightMode::widened);
  EXPECT_REGARD_ERROR(table(model, request), ErrorKind::invalid_input, "no tokens");
}

// A token that ends inside a character is a part of the answer that contains the character.
TEST(StudyAnswer, CoversAllTokensOfItsCharacters) {
  const infer::LoadedModel model =
      infer::LoadedModel::open(golden("convert/gpt2/converted").string(), WeightMode::widened);
  ThreadPool pool(1);
  const auto predictions = [&](const std::string& answer) {
    const auto example = inspect::study_example(model, pool, "the caé cat ran 👍", "", {.answer = answer});
    return std::ranges::count_if(example.labels, [](std::int32_t label) { return label >= 0; });
  };
  EXPECT_EQ(predictions("é"), 2);
  EXPECT_EQ(predictions("👍"), 4);
  EXPECT_EQ(predictions("cat"), 1);
}

// A state file of other interventions must not be used, even if the loss of the whole model is the same.
TEST_F(EditedStudy, AStateFileBelongsToItsInterventions) {
  const infer::LoadedModel model = open("gpt");
  for (const std::string view : {"heads", "sets", "flip", "patch", "path"}) {
    SCOPED_TRACE(view);
    StudyRequest request = request_of(view, false);
    request.state = (folder_ / ("state of " + view)).string();
    request.interventions = {"zero decoder.0.1 positions=90"};
    EXPECT_EQ(table(model, request).warnings.size(), 1u);
    EXPECT_EQ(table(model, request).warnings.size(), 1u);
    request.interventions = {"zero decoder.0.1 positions=91"};
    EXPECT_REGARD_ERROR(table(model, request), ErrorKind::usage,
                        "another sweep (expected interventions zero decoder.0.1 positions=91, found "
                        "interventions zero decoder.0.1 positions=90)");
  }
}

}  // namespace
}  // namespace regard::testing
