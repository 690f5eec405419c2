// Titles, columns and notes of study tables, and errors of studies that do not fit the model or the request.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "inspect/alignment_error.h"
#include "inspect/gradients.h"
#include "inspect/head_flip.h"
#include "inspect/residual_reader.h"
#include "inspect/shown_tokens.h"
#include "inspect/study_views.h"
#include "models/weights.h"
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
using Names = std::vector<std::string>;

class StudyNotes : public ::testing::Test {
 protected:
  StudyNotes() {
    write_text_model(folder_ / "gpt", "gpt", 64);
    write_text_model(folder_ / "translator", "translator");
    gpt_ = infer::LoadedModel::open((folder_ / "gpt").string(), WeightMode::widened);
    translator_ = infer::LoadedModel::open((folder_ / "translator").string(), WeightMode::widened);
  }
  StudyTable table(const infer::LoadedModel& model, const StudyRequest& request) {
    return inspect::study_table(model, pool_, request, 1, {});
  }
  static StudyRequest request(const std::string& view) {
    StudyRequest request;
    request.view = view, request.text = "the fox", request.answer = "a", request.instead = "b";
    return request;
  }
  std::int32_t id(const char* text) const {
    return gpt_.source->encode_ids(text, {.add_special = false, .match_special = false}).at(0);
  }

  TemporaryFolder folder_;
  ThreadPool pool_{1};
  infer::LoadedModel gpt_, translator_;
};

TEST_F(StudyNotes, OfTokensAreTheBaselineAndTheError) {
  StudyRequest request = this->request("tokens");
  request.steps = 3;
  const StudyTable found = table(gpt_, request);
  inspect::AttributionOptions options;
  options.steps = 3;
  inspect::PassInput input;
  input.target = gpt_.read("the fox").ids;
  const auto expected = inspect::attribute_tokens(*gpt_.model, pool_, input, {6, id("a"), id("b")}, options);
  EXPECT_EQ(found.title, "Input tokens and the logit of 'a' minus logit of 'b' at position 6");
  EXPECT_EQ(found.columns, (Names{"position", "token", "gradient x input", "integrated"}));
  EXPECT_EQ(
      found.notes,
      (Names{fmt::format("Integrated gradients from a baseline of zeros ({:.4f}) to the text ({:.4f}), 3 "
                         "steps.",
                         expected.baseline, expected.difference),
             fmt::format("Completeness error: {:.2g}.", expected.completeness_error)}));
  ASSERT_EQ(found.rows.size(), 7u);
  for (std::size_t i = 0; i < 7; ++i) {
    const std::string token = inspect::shown_token(gpt_.source.get(), input.target[i]);
    EXPECT_EQ(found.rows[i],
              (std::vector<inspect::StudyCell>{std::to_string(i), token, expected.gradient_input[i],
                                               expected.integrated[i]}));
  }
}

TEST_F(StudyNotes, OfDirectAttributionAreTheSumAndTheRest) {
  StudyRequest request = this->request("direct");
  request.position = 2, request.instead = "";
  const StudyTable found = table(gpt_, request);
  inspect::StudyExample example;
  example.input.target = gpt_.read("the fox").ids;
  const auto expected = inspect::direct_attribution(*gpt_.model, pool_, example, {2, id("a"), -1});
  EXPECT_EQ(found.title, "Direct attribution of the logit of 'a' at position 2");
  EXPECT_EQ(found.notes,
            (Names{fmt::format("The shares add up to {:.4f}; biases of the final norm and the head "
                               "add {:.4f}.",
                               expected.difference - expected.rest, expected.rest)}));
  ASSERT_EQ(found.rows.size(), expected.shares.size());
  for (std::size_t i = 1; i < found.rows.size(); ++i)
    EXPECT_GE(std::abs(std::get<double>(found.rows[i - 1][1])), std::abs(std::get<double>(found.rows[i][1])));
}

TEST_F(StudyNotes, TheLensHasARowForEachLayerAndPosition) {
  inspect::StudyExample example;
  example.input.target = gpt_.read("the fox").ids;
  example.labels.assign(example.input.target.begin() + 1, example.input.target.end());
  example.labels.push_back(kIgnoredLabel);
  const auto cells = inspect::logit_lens(*gpt_.model, pool_, example);
  ASSERT_EQ(cells.size(), 7u * 3);
  const auto shown = [&](std::int32_t id) { return inspect::shown_token(gpt_.source.get(), id); };
  std::vector<std::vector<inspect::StudyCell>> rows;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const inspect::LensCell& cell = cells[i];
    const bool last = i >= 18;
    EXPECT_EQ(cell.position, static_cast<std::int64_t>(i / 3));
    EXPECT_EQ(cell.layer, static_cast<std::int64_t>(i % 3) - 1);
    EXPECT_EQ(cell.wanted, last ? kIgnoredLabel : example.input.target[i / 3 + 1]);
    rows.push_back({std::to_string(i / 3), shown(example.input.target[i / 3]),
                    i % 3 == 0 ? "embedding" : std::to_string(i % 3 - 1), shown(cell.best), cell.probability,
                    last ? "" : shown(cell.wanted), last ? "" : std::to_string(cell.rank),
                    last ? inspect::StudyCell() : inspect::StudyCell(cell.wanted_probability)});
  }
  StudyRequest request = this->request("lens");
  const StudyTable whole = table(gpt_, request);
  EXPECT_EQ(whole.columns,
            (Names{"position", "after", "layer", "best", "probability", "wanted", "rank", "p(wanted)"}));
  EXPECT_EQ(whole.rows, rows);
  for (const std::int64_t position : {0, 3, 6}) {
    request.position = position;
    const auto begin = rows.begin() + 3 * position;
    EXPECT_EQ(table(gpt_, request).rows, (std::vector<std::vector<inspect::StudyCell>>(begin, begin + 3)));
  }
}

TEST_F(StudyNotes, OfFlipsNameTheHeads) {
  StudyRequest request = this->request("flip");
  request.most = 8;
  if (std::get<1>(std::pair{0, table(gpt_, request).rows.empty()}))
    std::swap(request.answer, request.instead);
  const StudyTable found = table(gpt_, request);
  inspect::PassInput input;
  input.target = gpt_.read("the fox").ids;
  const inspect::HeadFlip flip = inspect::flip_answer(
      *gpt_.model, pool_, input, {6, id(request.answer.c_str()), id(request.instead.c_str())}, {.most = 8});
  EXPECT_EQ(found.title, fmt::format("Heads ablated one after another: logit of '{}' minus logit of '{}' at "
                                     "position 6; {:.4f} with all heads",
                                     request.answer, request.instead, flip.whole));
  EXPECT_EQ(found.columns, (Names{"heads off", "difference"}));
  std::vector<inspect::Head> off;
  ASSERT_EQ(found.rows.size(), flip.steps.size());
  ASSERT_GT(found.rows.size(), 0u);
  for (std::size_t i = 0; i < found.rows.size(); ++i) {
    off.push_back(flip.steps[i].head);
    EXPECT_EQ(found.rows[i],
              (std::vector<inspect::StudyCell>{inspect::text_of(off), flip.steps[i].difference}));
  }
  EXPECT_EQ(
      found.notes,
      (Names{"Each row adds the head that lowers the difference most.",
             flip.flipped ? fmt::format("Ablating these heads makes the other answer more likely ({:.3f}). "
                                        "Each head is needed, and no two of the heads can be replaced by "
                                        "one head: {}.",
                                        flip.difference, inspect::text_of(flip.needed))
                          : "Ablating these heads does not change the answer. Maximum number of heads: 8."}));
}

// The model has eight heads, so at most nine are never all ablated.
TEST_F(StudyNotes, OfFlipsNameEachResult) {
  inspect::PassInput input;
  input.target = gpt_.read("the fox").ids;
  std::set<std::string> results;
  for (const char* instead : {"b", "c", "d", "e", "f", "g"})
    for (const std::int64_t most : {1, 8, 9}) {
      StudyRequest request = this->request("flip");
      request.instead = instead, request.most = most;
      const auto found =
          inspect::flip_answer(*gpt_.model, pool_, input, {6, id("a"), id(instead)}, {.most = most});
      const StudyTable shown = table(gpt_, request);
      ASSERT_FALSE(shown.notes.empty());
      EXPECT_EQ(shown.rows.size(), found.steps.size());
      const std::string& note = shown.notes.back();
      if (found.whole <= 0)
        EXPECT_EQ(shown.notes,
                  (Names{"The other answer is more likely with all heads, so no head is ablated."}));
      else if (found.flipped)
        EXPECT_TRUE(note.starts_with("Ablating these heads makes the other answer more likely (")) << note;
      else if (most == 9)
        EXPECT_EQ(note, "Ablating all heads does not change the answer.");
      else
        EXPECT_EQ(note,
                  fmt::format("Ablating these heads does not change the answer. Maximum number of heads: {}.",
                              most));
      results.insert(note.substr(0, 24));
    }
  EXPECT_EQ(results.size(), 4u) << "each result occurs";
}

TEST_F(StudyNotes, TitlesNameTheClassOrTheToken) {
  const infer::LoadedModel nli = infer::LoadedModel::open(golden("hf-more/bert-nli"), WeightMode::widened);
  StudyRequest request = this->request("tokens");
  request.text = "green rivers", request.answer = "1", request.instead = "", request.steps = 2;
  EXPECT_EQ(table(nli, request).title, "Input tokens and the logit of class 1 at position 0");
  request.instead = "2";
  EXPECT_EQ(table(nli, request).title,
            "Input tokens and the logit of class 1 minus logit of class 2 at position 0");
  request.answer = "3";
  EXPECT_REGARD_ERROR(table(nli, request), ErrorKind::invalid_input, "the model has no such label");
  StudyRequest lens = this->request("lens");
  lens.target = "a";
  EXPECT_REGARD_ERROR(table(gpt_, lens), ErrorKind::usage,
                      "the target does not apply to a decoder-only model. Remove the target");
}

TEST_F(StudyNotes, OfAlignmentsAreThePairsWithoutLinks) {
  write_file(folder_.path(), "pairs.tsv", "the fox\ta fox\nan apple\tan egg\nthe dog\ta dog\n");
  StudyRequest request;
  request.view = "alignment",
  request.alignments = write_file(folder_.path(), "links", "0-0 1p1\n\n\n").string();
  EXPECT_REGARD_ERROR(table(translator_, request), ErrorKind::usage, "the view alignment needs data");
  request.data.files = {(folder_ / "pairs.tsv").string()};
  const StudyTable found = table(translator_, request);
  EXPECT_EQ(found.title, "Alignment error rate of cross-attention; 1 pair with 1 sure link");
  EXPECT_EQ(found.columns, (Names{"head", "AER", "precision", "recall", "AER reading"}));
  ASSERT_EQ(found.notes.size(), 3u);
  EXPECT_EQ(found.notes[2], "2 pairs without links are left out.");
  const auto study =
      inspect::study_alignment(translator_, pool_, folder_ / "pairs.tsv", folder_ / "links", {});
  ASSERT_EQ(found.rows.size(), study.heads.size());
  for (std::size_t i = 0; i < study.heads.size(); ++i) {
    const inspect::AlignmentCounts& one = study.heads[i].writing;
    EXPECT_EQ(found.rows[i],
              (std::vector<inspect::StudyCell>{study.heads[i].name, one.error_rate(), one.precision(),
                                               one.recall(), study.heads[i].reading.error_rate()}));
  }
  // The number of examples limits the pairs that are read, also those without links.
  request.examples = 2;
  EXPECT_EQ(table(translator_, request).notes.at(2), "1 pair without links is left out.");
  request.examples = 1;
  EXPECT_EQ(table(translator_, request).notes.size(), 2u);
  request.data.files.push_back(request.data.files[0]);
  EXPECT_REGARD_ERROR(table(translator_, request), ErrorKind::usage,
                      "the view alignment needs one file of sentence pairs (found 2 files)");
  request.data.files = {write_file(folder_.path(), "empty", "\n \n").string()};
  write_file(folder_.path(), "links", "\n\n");
  EXPECT_REGARD_ERROR(
      table(translator_, request), ErrorKind::invalid_input,
      "empty: the file has no texts. Write one pair per line, TEXT<tab>TARGET, or give another file");
  EXPECT_REGARD_ERROR(inspect::study_alignment(gpt_, pool_, folder_ / "pairs.tsv", folder_ / "links", {}),
                      ErrorKind::usage, "the model has no cross-attention (expected an encoder-decoder)");
}

TEST_F(StudyNotes, StudiesThatDoNotFitAreRefused) {
  EXPECT_REGARD_ERROR(table(gpt_, request("nothing")), ErrorKind::usage,
                      "unknown view of a study (expected heads, sets, flip, kinds, induction, lens, direct, "
                      "patch, path, tokens, rollout, flow, probe, alignment, found nothing)");
  EXPECT_REGARD_ERROR(table(gpt_, request("alignment")), ErrorKind::usage,
                      "the view alignment does not apply to this model (expected an encoder-decoder that "
                      "reads texts, found a decoder that reads texts)");
  EXPECT_REGARD_ERROR(table(translator_, request("induction")), ErrorKind::usage,
                      "the view induction does not apply to this model (expected a decoder-only model, found "
                      "an encoder-decoder that reads texts)");
  const auto bert = infer::LoadedModel::open(golden("hf-more/st-mean").string(), WeightMode::widened);
  for (const std::string view : {"lens", "direct"})
    EXPECT_REGARD_ERROR(table(bert, request(view)), ErrorKind::usage,
                        "the view " + view +
                            " does not apply to this model (expected a model that predicts the next token: a "
                            "decoder or an encoder-decoder, found an encoder that reads texts)");
  for (const std::string view : {"heads", "sets"})
    EXPECT_REGARD_ERROR(
        table(bert, request(view)), ErrorKind::usage,
        "the view " + view +
            " has no answer if the model is an encoder (expected a decoder or an encoder-decoder)");
  const auto clip = infer::LoadedModel::open(golden("hf-more/clip-words").string(), WeightMode::widened);
  EXPECT_REGARD_ERROR(
      table(clip, request("lens")), ErrorKind::usage,
      "the view lens does not apply to this model (expected the view heads or kinds for pairs "
      "of an image and a text, or rollout, flow or probe for images or texts, found two "
      "encoders, of texts and of images)");
  infer::LoadedModel vit;
  vit.model = load_model(formats::ModelFolder::open(golden("hf-tiny/vit")));
  EXPECT_REGARD_ERROR(
      table(vit, request("tokens")), ErrorKind::usage,
      "this call cannot read image or sound files (expected a model that reads texts, found a "
      "model that reads images)");
}

TEST_F(StudyNotes, RolloutIsARowOrTheWholeMatrix) {
  const StudyTable whole = table(gpt_, request("rollout"));
  EXPECT_EQ(whole.title,
            "Attention rollout: the contribution of each input token (column) to each position (row)");
  ASSERT_EQ(whole.columns.size(), 8u);
  EXPECT_EQ(whole.columns[1], "0 t");
  ASSERT_EQ(whole.rows.size(), 7u);
  for (const std::int64_t position : {0, 3, 6}) {
    StudyRequest one = request("rollout");
    one.position = position;
    const StudyTable row = table(gpt_, one);
    EXPECT_EQ(row.title, fmt::format("Attention rollout: the contribution of each input token to position {}",
                                     position));
    EXPECT_EQ(row.columns, (Names{"position", "token", "rollout"}));
    ASSERT_EQ(row.rows.size(), 7u);
    for (std::size_t i = 0; i < 7; ++i) {
      EXPECT_EQ(std::get<double>(row.rows[i][2]),
                std::get<double>(whole.rows[static_cast<std::size_t>(position)][i + 1]));
      EXPECT_EQ(std::get<std::string>(row.rows[i][0]) + " " + std::get<std::string>(row.rows[i][1]),
                whole.columns[i + 1]);
    }
  }
  StudyRequest outside = request("rollout");
  outside.position = 7;
  EXPECT_REGARD_ERROR(table(gpt_, outside), ErrorKind::usage,
                      "the position is out of range (expected a position from 0 to 6, found 7)");
  // the default of a decoder's flow is its last position
  EXPECT_EQ(table(gpt_, request("flow")).title, "Attention flow from position 6 to each input token");
  EXPECT_EQ(table(translator_, request("flow")).title, "Attention flow from position 0 to each input token");
}

}  // namespace
}  // namespace regard::testing
