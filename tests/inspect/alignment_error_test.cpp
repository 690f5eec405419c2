#include "inspect/alignment_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "infer/loaded_model.h"
#include "inspect/attention_view.h"
#include "inspect/capture.h"
#include "inspect/pass_input.h"
#include "regard/error.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::inspect {
namespace {

using Links = std::vector<std::array<std::int64_t, 3>>;

Links plain(const std::vector<AlignedWords>& links) {
  Links all;
  for (const AlignedWords& link : links) all.push_back({link.source, link.target, link.sure ? 1 : 0});
  return all;
}

TEST(AlignmentError, ReadsPharaohFormat) {
  EXPECT_EQ(plain(parse_alignment(" 0-1  12p3\t2-0 ")), (Links{{0, 1, 1}, {12, 3, 0}, {2, 0, 1}}));
  EXPECT_TRUE(parse_alignment("").empty());
  for (const char* bad :
       {"0", "-", "p", "0-", "-1", "0-1-2", "0x1", "99999999999-1", "0-1 0p1", "+1-2", "0--1"})
    EXPECT_THROW(parse_alignment(bad), Error) << bad;
}

// The expected error is counted by hand for the links A = {0-0, 2-1, 1-2}, the sure links S = {0-0, 1-1} and
// the possible links P = S ∪ {2-1}.
TEST(AlignmentError, IsThatOfOchAndNey) {
  AlignmentCounts counts;
  count_links(counts, parse_alignment("0-0 2-1 1-2"), parse_alignment("0-0 1-1 2p1"));
  EXPECT_EQ(counts.found, 3);
  EXPECT_EQ(counts.sure, 2);
  EXPECT_DOUBLE_EQ(counts.precision(), 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(counts.recall(), 0.5);
  EXPECT_DOUBLE_EQ(counts.error_rate(), 1.0 - 3.0 / 5.0);
  // The counts of a second sentence with A = S = P are added: 1 − (2 + 3) / (4 + 3).
  count_links(counts, parse_alignment("0-0"), parse_alignment("0-0"));
  EXPECT_DOUBLE_EQ(counts.error_rate(), 1.0 - 5.0 / 7.0);
  EXPECT_EQ(AlignmentCounts().error_rate(), 0.0);
}

// Source word 0 is token 0, and word 1 is tokens 1 and 2; target word 0 is rows 0 and 1, and word 1 is row 2.
// The last token and row belong to no word.
TEST(AlignmentError, LinksTheWordsWithTheLargestSums) {
  const std::vector<double> weights{0.40, 0.10, 0.25, 0.25,  //
                                    0.20, 0.35, 0.35, 0.10,  //
                                    0.30, 0.10, 0.10, 0.50,  //
                                    0.00, 0.00, 0.00, 1.00};
  const std::vector<std::int64_t> rows{0, 0, 1, -1}, columns{0, 1, 1, -1};
  // Target word 0 has the summed weights 0.60 and 1.05 on the two source words, target word 1 has 0.30 and
  // 0.20. The last source token belongs to no word and is ignored.
  EXPECT_EQ(plain(strongest_links(weights, rows, columns)), (Links{{1, 0, 1}, {0, 1, 1}}));
  // If two source words have equal sums, the target word is linked to the first of them. A target word whose
  // sums are all 0 or NaN has no link.
  const std::vector<double> equal{0.25, 0.25, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0};
  EXPECT_EQ(plain(strongest_links(equal, std::vector<std::int64_t>{0, 1}, columns)), (Links{{0, 0, 1}}));
  const std::vector<double> nothing(4, std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(strongest_links(nothing, std::vector<std::int64_t>{0}, columns).empty());
}

class AlignmentStudyTest : public ::testing::Test {
 protected:
  AlignmentStudyTest() {
    testing::write_text_model(folder_ / "translator", "translator");
    testing::write_file(folder_.path(), "pairs.tsv", "the quick fox\ta fox\n\nan apple\tan egg a day\n");
    loaded_ = infer::LoadedModel::open((folder_ / "translator").string());
  }
  AlignmentStudy study(const std::string& links) {
    testing::write_file(folder_.path(), "links", links);
    return study_alignment(loaded_, pool_, folder_ / "pairs.tsv", folder_ / "links");
  }
  testing::TemporaryFolder folder_;
  infer::LoadedModel loaded_;
  ThreadPool pool_{2};
};

TEST_F(AlignmentStudyTest, CountsEveryHeadAndTheMeans) {
  const AlignmentStudy found = study("0-0 2-1\n\n0p0 0-1\n");
  EXPECT_EQ(found.pairs, 2);
  EXPECT_EQ(found.heads.size(), 8u + 2u + 1u);  // 2 layers of 4 heads
  for (const HeadAlignment& head : found.heads) {
    EXPECT_EQ(head.writing.sure, 3) << head.name;
    EXPECT_EQ(head.writing.found, 2 + 4) << head.name;
    EXPECT_EQ(head.reading.found, 2 + 4) << head.name;
  }
  for (std::size_t i = 1; i < found.heads.size(); ++i)
    EXPECT_LE(std::min(found.heads[i - 1].writing.error_rate(), found.heads[i - 1].reading.error_rate()),
              std::min(found.heads[i].writing.error_rate(), found.heads[i].reading.error_rate()));
  const AlignmentStudy partly = study("0-0\n\n\n");
  EXPECT_EQ(partly.pairs, 1);
  EXPECT_EQ(partly.without_links, 1);
}

// If the reference alignments are the links of a head, this head has no error.
TEST_F(AlignmentStudyTest, AHeadHasNoErrorAgainstItsOwnLinks) {
  std::string lines;
  const std::vector<std::pair<std::string, std::string>> texts{{"the quick fox", "a fox"},
                                                               {"an apple", "an egg a day"}};
  for (const auto& [text, target] : texts) {
    Selection selection;
    selection.kinds = {Kind::cross};
    Capture capture(selection);
    const PassInput input = pass_input(loaded_, pool_, text, target);
    run_pass(*loaded_.model, pool_, input, &capture);
    const Map map = maps_of(capture, false).at(5);
    ASSERT_EQ(map.head.text(), "cross.1.1");
    // Every token is a character, so the number of its word is the number of spaces before it.
    const auto words = [](const text::Tokenizer& tokenizer, const std::vector<std::int32_t>& ids) {
      std::vector<std::int64_t> all;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const std::string whole = tokenizer.decode(std::span(ids).first(i + 1));
        const bool none = tokenizer.is_special(ids[i]) || whole.ends_with(' ');
        all.push_back(none ? -1 : std::count(whole.begin(), whole.end(), ' '));
      }
      return all;
    };
    const std::vector<double> weights(map.weights.begin(), map.weights.end());
    for (const AlignedWords& link : strongest_links(weights, words(*loaded_.target, input.written),
                                                    words(*loaded_.source, input.source.ids)))
      lines += std::to_string(link.source) + "-" + std::to_string(link.target) + " ";
    lines += lines.find('\n') == lines.npos ? "\n\n" : "\n";
  }
  const AlignmentStudy found = study(lines);
  for (const HeadAlignment& head : found.heads)
    if (head.name == "cross.1.1") {
      EXPECT_EQ(head.writing.error_rate(), 0.0) << lines;
      EXPECT_EQ(head.writing.precision(), 1.0);
    }
}

TEST_F(AlignmentStudyTest, BadFilesAreRefusedWithTheirPlace) {
  const auto message = [&](const std::string& links) {
    try {
      study(links);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message("0-0\n\n").find("fewer alignments"), std::string::npos) << message("0-0\n\n");
  EXPECT_NE(message("0-0\n\n0-0\n0-0\n").find("more alignments"), std::string::npos);
  EXPECT_NE(message("3-0\n\n0-0\n").find("links:1"), std::string::npos) << message("3-0\n\n0-0\n");
  EXPECT_NE(message("0-0\n\nx\n").find("links:3"), std::string::npos) << message("0-0\n\nx\n");
  testing::write_file(folder_.path(), "pairs.tsv", "the quick fox\n");
  EXPECT_NE(message("0-0\n").find("pairs.tsv:1"), std::string::npos) << message("0-0\n");
  testing::write_file(folder_.path(), "pairs.tsv", "\n");
  EXPECT_NE(message("\n").find("pairs.tsv: the file has no texts. Write one pair per line, TEXT<tab>TARGET"),
            std::string::npos)
      << message("\n");
}

}  // namespace
}  // namespace regard::inspect
