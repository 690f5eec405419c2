// Property: random rows written in any format are read back unchanged, with and without compression or a byte
// order mark, and with either line end.
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/utf8.h"
#include "data/labelled_images.h"
#include "data/squad.h"
#include "data/table.h"
#include "data/tagged.h"
#include "support/compress.h"
#include "support/program.h"
#include "support/temporary_folder.h"

namespace regard::data {
namespace {

using Rows = std::vector<std::vector<std::string>>;
constexpr std::uint64_t kRounds = 60;

class RoundTrip : public ::testing::Test {
 protected:
  void start(std::uint64_t round) { random = RandomStream({round, 0, place_of("round trip")}); }
  bool draw() { return random.next_below(2) == 1; }

  // Return a random text of at least `shortest` code points of `alphabet`.
  std::string text(std::u32string_view alphabet, std::size_t shortest) {
    std::string result;
    for (std::size_t n = shortest + random.next_below(12); n > 0; --n)
      utf8::append(result, alphabet[random.next_below(alphabet.size())]);
    return result;
  }
  Rows rows(std::u32string_view alphabet, std::size_t columns, std::size_t shortest = 0) {
    Rows result(random.next_below(30));
    for (auto& row : result)
      for (std::size_t c = 0; c < columns; ++c) row.push_back(text(alphabet, shortest));
    return result;
  }
  std::string line_end() { return random.next_below(2) == 0 ? "\n" : "\r\n"; }

  // Write the file with a random compression and, if `may_have_mark`, at random with a byte order mark.
  std::string file(std::string content, bool may_have_mark = true) {
    if (may_have_mark && !content.empty() && draw()) content.insert(0, "\uFEFF");
    const auto compression = random.next_below(3);
    std::string packed = compression == 0   ? testing::gzip(content)
                         : compression == 1 ? testing::zstd(content)
                                            : content;
    if (packed.empty()) packed = content;
    return testing::write_file(folder.path(), "file" + std::to_string(files++), packed).string();
  }
  static Rows read(TableOptions options) {
    TableReader reader(std::move(options));
    Rows result;
    for (TableRow row; reader.next(row);) {
      result.emplace_back();
      for (std::size_t i = 0; i < row.size(); ++i) result.back().push_back(row.text(i));
    }
    EXPECT_EQ(reader.report().total_skipped(), 0);
    return result;
  }

  testing::TemporaryFolder folder;
  RandomStream random{{0, 0, 0}};
  int files = 0;
};

// kPlain has no carriage return, since one before a line feed is part of the line end.
constexpr std::u32string_view kPlain = U"ab \"',;\u00E9\u6F22\U0001F600\v\\{}[]0#";
constexpr std::u32string_view kAny = U"ab \"',;\t\n\r\u00E9\u6F22\U0001F600\v\\{}[]0#";

TEST_F(RoundTrip, Tsv) {
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    start(round);
    const std::size_t columns = 1 + random.next_below(4);
    const Rows written = rows(kPlain, columns, 1);
    const std::string end = line_end();
    std::string content;
    for (const auto& row : written) {
      for (std::size_t c = 0; c < columns; ++c) content += (c > 0 ? "\t" : "") + row[c];
      content += end;
    }
    EXPECT_EQ(read({.files = {file(content)}, .format = TableFormat::tsv}), written) << round;
  }
}

TEST_F(RoundTrip, Csv) {
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    start(round);
    const std::size_t columns = 1 + random.next_below(4);
    const Rows written = rows(kAny, columns);
    const std::string end = line_end(), delimiter = draw() ? "," : ";";
    const bool header = draw();
    std::string content;
    std::vector<std::string> names;
    for (std::size_t c = 0; c < columns; ++c) names.push_back("name, " + std::to_string(c));
    Rows all = written;
    if (header) all.insert(all.begin(), names);
    for (const auto& row : all) {
      for (std::size_t c = 0; c < columns; ++c) {
        const bool bare = !row[c].empty() && row[c].find_first_of("\",;\r\n") == std::string::npos;
        std::string field = row[c];
        if (!bare || draw()) {
          for (std::size_t at = 0; (at = field.find('"', at)) != std::string::npos; at += 2)
            field.insert(at, 1, '"');
          field = "\"" + field + "\"";
        }
        content += (c > 0 ? delimiter : "") + field;
      }
      content += end;
    }
    EXPECT_EQ(read({.files = {file(content)},
                    .format = TableFormat::csv,
                    .columns = header ? names : std::vector<std::string>{},
                    .delimiter = delimiter[0]}),
              written)
        << round;
  }
}

TEST_F(RoundTrip, JsonLines) {
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    start(round);
    const Rows written = rows(kAny, 2);
    const std::string end = line_end();
    std::string content;
    for (const auto& row : written)
      content += Json{{"b", row[1]}, {"other", {1, 2}}, {"a", row[0]}}.dump() + end;
    EXPECT_EQ(read({.files = {file(content)}, .format = TableFormat::jsonl, .columns = {"a", "b"}}), written)
        << round;
  }
}

TEST_F(RoundTrip, TextAndAlignedLines) {
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    start(round);
    const Rows written = rows(kPlain, 2);
    std::string content[2];
    for (int c = 0; c < 2; ++c) {
      const std::string end = line_end();
      for (const auto& row : written) content[c] += row[static_cast<std::size_t>(c)] + end;
    }
    const std::string first = file(content[0]), second = file(content[1]);
    EXPECT_EQ(read({.files = {first, second}, .format = TableFormat::lines}), written) << round;
    const Rows both = read({.files = {first, second}, .format = TableFormat::text});
    ASSERT_EQ(both.size(), 2 * written.size());
    for (std::size_t i = 0; i < written.size(); ++i) {
      EXPECT_EQ(both[i][0], written[i][0]);
      EXPECT_EQ(both[i + written.size()][0], written[i][1]);
    }
  }
}

TEST_F(RoundTrip, TaggedSentences) {
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    start(round);
    std::vector<Rows> sentences(random.next_below(6));
    std::string content;
    const std::string end = line_end(), gap = draw() ? "\t" : " ";
    for (Rows& sentence : sentences) {
      while (sentence.empty()) sentence = rows(U"ab\"',\u00E9\u6F22#-", 2, 1);
      for (const auto& word : sentence) content += word[0] + gap + "x" + gap + word[1] + end;
      content += end;
    }
    TaggedReader reader({.files = {file(content)}});
    std::size_t count = 0;
    for (TaggedSentence sentence; reader.next(sentence); ++count) {
      ASSERT_LT(count, sentences.size());
      ASSERT_EQ(sentence.words.size(), sentences[count].size());
      for (std::size_t i = 0; i < sentence.words.size(); ++i) {
        EXPECT_EQ(sentence.words[i], sentences[count][i][0]);
        EXPECT_EQ(sentence.tags[i], sentences[count][i][1]);
      }
    }
    EXPECT_EQ(count, sentences.size()) << round;
  }
}

TEST_F(RoundTrip, MarkedAnswers) {
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    start(round);
    Json paragraphs = Json::array();
    std::vector<std::vector<MarkedAnswer>> written;
    for (const auto& row : rows(kAny, 1, 6)) {
      const std::u32string context = utf8::code_points(row[0]);
      const std::size_t begin = random.next_below(context.size()),
                        length = 1 + random.next_below(context.size() - begin);
      const MarkedAnswer answer{utf8::encode(context.substr(begin, length)),
                                static_cast<std::int64_t>(begin)};
      const bool impossible = draw();
      Json answers = Json::array();
      if (!impossible) answers.push_back({{"text", answer.text}, {"answer_start", answer.start}});
      const Json question{{"question", "?"}, {"answers", answers}, {"is_impossible", impossible}};
      paragraphs.push_back({{"context", row[0]}, {"qas", Json::array({question})}});
      written.push_back(impossible ? std::vector<MarkedAnswer>{} : std::vector<MarkedAnswer>{answer});
    }
    const QuestionSet set = read_questions(
        file(Json{{"data", Json::array({Json{{"paragraphs", paragraphs}}})}}.dump(draw() ? 1 : -1)));
    ASSERT_EQ(set.questions.size(), written.size()) << round;
    for (std::size_t i = 0; i < written.size(); ++i) {
      ASSERT_EQ(set.questions[i].answers.size(), written[i].size());
      if (written[i].empty()) continue;
      EXPECT_EQ(set.questions[i].answers[0].text, written[i][0].text);
      EXPECT_EQ(set.questions[i].answers[0].start, written[i][0].start);
    }
  }
}

TEST_F(RoundTrip, Pixels) {
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    start(round);
    const std::size_t count = 1 + random.next_below(4);
    std::string images("\0\0\x08\x03\0\0\0", 7), labels("\0\0\x08\x01\0\0\0", 7), table;
    images += static_cast<char>(count), labels += static_cast<char>(count);
    images += std::string("\0\0\0\x02\0\0\0\x03", 8);
    std::vector<std::uint8_t> pixels;
    for (std::size_t i = 0; i < count; ++i) {
      for (int p = 0; p < 6; ++p) {
        pixels.push_back(static_cast<std::uint8_t>(random.next_below(256)));
        images += static_cast<char>(pixels.back());
        table += std::to_string(pixels.back()) + ",";
      }
      labels += static_cast<char>(i);
      table += std::to_string(i) + "\n";
    }
    const LabelledImages idx = read_idx_images(file(images, false), file(labels, false));
    const LabelledImages csv = read_pixel_table({.file = file(table), .height = 2, .width = 3});
    ASSERT_EQ(idx.images.size(), count);
    EXPECT_EQ(idx.labels, csv.labels);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      EXPECT_EQ(idx.images[i / 6].pixels[3 * (i % 6)], pixels[i]);
      EXPECT_EQ(csv.images[i / 6].pixels[3 * (i % 6)], pixels[i]);
    }
  }
}

}  // namespace
}  // namespace regard::data
