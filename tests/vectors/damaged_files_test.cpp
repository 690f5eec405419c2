// The whole messages of files of word vectors that are damaged, and of options that are out of range.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>

#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "vectors/save.h"
#include "vectors/train_glove.h"
#include "vectors/train_pairs.h"

namespace regard::vectors {
namespace {

// The numbers of a file in fastText's binary format, with two words of two numbers and four buckets.
struct FasttextNumbers {
  std::int32_t version = 12, size = 2, buckets = 4, shortest = 2, longest = 3;
  std::int32_t entries = 2, words = 2, labels = 0;
  std::int64_t pruned = -1;
  std::int8_t second_type = 0;  // 0: word, 1: label
  std::uint8_t quantised = 0;
  std::int64_t rows = 6, columns = 2, stored_rows = 6;
  std::int64_t outputs = 2, output_columns = 2, stored_outputs = 2;
  std::vector<std::string> names{"ab", "c"};

  std::string file() const {
    std::string bytes;
    const auto put = [&bytes](auto value) {
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    };
    for (const std::int32_t number :
         {793712314, version, size, 5, 5, 1, 5, 1, 1, 2, buckets, shortest, longest, 100})
      put(number);
    put(1e-4);
    for (const std::int32_t number : {entries, words, labels}) put(number);
    for (const std::int64_t number : {std::int64_t{10}, pruned}) put(number);
    for (const std::string& word : names) {
      bytes.append(word.c_str(), word.size() + 1);
      put(std::int64_t{5});
      put(word == "c" ? second_type : std::int8_t{0});
    }
    put(quantised), put(rows), put(columns);
    for (std::int64_t i = 0; i < 2 * stored_rows; ++i) put(static_cast<float>(i));
    put(std::uint8_t{0}), put(outputs), put(output_columns);
    for (std::int64_t i = 0; i < 2 * stored_outputs; ++i) put(static_cast<float>(i));
    return bytes;
  }
};

class DamagedVectors : public ::testing::Test {
 protected:
  WordVectors read(const std::string& content, Format format = Format::automatic) {
    return WordVectors::load(testing::write_file(folder_.path(), "v", content), pool_, format);
  }
  void expect_refused(const std::string& content, const std::string& message,
                      Format format = Format::automatic) {
    testing::expect_error_text(ErrorKind::bad_file, (folder_ / "v").string() + message,
                               [&] { read(content, format); });
  }
  testing::TemporaryFolder folder_;
  ThreadPool pool_{2};
};

TEST_F(DamagedVectors, FasttextModels) {
  EXPECT_EQ(read(FasttextNumbers().file()).count(), 2u);
  const auto refused = [&](auto change, const std::string& message) {
    FasttextNumbers numbers;
    change(numbers);
    expect_refused(numbers.file(), message);
  };
  refused([](FasttextNumbers& n) { n.version = 11; },
          " (byte 8): unsupported version of fastText's format; 12 is supported (found 11)");
  for (const std::int32_t size : {0, (1 << 20) + 1})
    refused([&](FasttextNumbers& n) { n.size = size; },
            " (byte 64): the vector size is not between 1 and 1048576 (found " + std::to_string(size) + ")");
  refused([](FasttextNumbers& n) { n.buckets = -1; },
          " (byte 64): the number of buckets is negative (found -1)");
  for (const std::int32_t length : {-1, 257}) {
    const std::string message =
        " (byte 64): an n-gram length is not between 0 and 256 (found " + std::to_string(length) + ")";
    refused([&](FasttextNumbers& n) { n.shortest = length; }, message);
    refused([&](FasttextNumbers& n) { n.longest = length; }, message);
  }
  const auto entries = [](int found) {
    return " (byte 92): the number of words and labels differs from the number of entries (found " +
           std::to_string(found) + ")";
  };
  refused([](FasttextNumbers& n) { n.entries = 3; }, entries(3));
  refused([](FasttextNumbers& n) { n.words = -1, n.labels = 3; }, entries(2));
  refused([](FasttextNumbers& n) { n.words = 3, n.labels = -1; }, entries(2));
  refused([](FasttextNumbers& n) { n.pruned = 1; }, " (byte 92): pruned models are not supported (found 1)");
  refused([](FasttextNumbers& n) { n.entries = n.words = 1000; },
          " (byte 92): the file is too short for its dictionary (found 1000)");
  refused([](FasttextNumbers& n) { n.second_type = 1; },
          " (byte 92): the number of words differs from the header (expected 2, found 1)");
  refused([](FasttextNumbers& n) { n.quantised = 1; },
          " (byte 116): quantised models are not supported (found 1)");
  refused([](FasttextNumbers& n) { n.columns = 3; },
          " (byte 132): the column count of the matrix differs from the vector size (found 3)");
  refused([](FasttextNumbers& n) { n.rows = 5; },
          " (byte 132): the row count of the matrix differs from the number of words and buckets (found 5)");
  refused([](FasttextNumbers& n) { n.rows = 1004, n.buckets = 1002; },
          " (byte 132): the file is too short for its matrix (found 1004)");
  refused([](FasttextNumbers& n) { n.output_columns = 3; },
          " (byte 197): the column count of the output matrix differs from the vector size (found 3)");
  refused([](FasttextNumbers& n) { n.outputs = -1; },
          " (byte 197): the column count of the output matrix differs from the vector size (found 2)");
  refused([](FasttextNumbers& n) { n.outputs = 3; },
          " (byte 197): unexpected bytes after the output matrix (found 3)");
}

// A model with labels has its words before the labels. A pruned size of 0 means no pruning.
TEST_F(DamagedVectors, FasttextModelsWithLabelsAreRead) {
  FasttextNumbers labelled;
  labelled.second_type = 1, labelled.words = labelled.labels = 1, labelled.rows = labelled.stored_rows = 5;
  EXPECT_EQ(read(labelled.file()).count(), 1u);
  FasttextNumbers unpruned;
  unpruned.pruned = 0, unpruned.outputs = unpruned.stored_outputs = 0;
  EXPECT_EQ(read(unpruned.file()).count(), 2u);
}

// If a word occurs twice, its first vector is used. The words after it still get the vectors of their own
// rows.
TEST_F(DamagedVectors, FasttextModelsWithARepeatedWord) {
  FasttextNumbers numbers;
  numbers.names = {"ab", "ab", "c"};
  numbers.entries = numbers.words = 3, numbers.rows = numbers.stored_rows = 7;
  const WordVectors vectors = read(numbers.file());
  ASSERT_EQ(vectors.count(), 2u);
  EXPECT_EQ(vectors.duplicates(), 1);
  const auto expected = [&](const std::string& word, std::int64_t row) {
    std::vector<std::int64_t> rows;
    Subwords{2, 3, 4}.buckets_of(word, rows);
    for (std::int64_t& bucket : rows) bucket += 3;
    rows.push_back(row);
    double sum = 0;
    for (const std::int64_t one : rows) sum += 2.0 * static_cast<double>(one);
    return sum / static_cast<double>(rows.size());
  };
  for (const auto& [word, row] : {std::pair{"ab", 0}, {"c", 2}}) {
    EXPECT_NEAR(vectors.require(word)[0], expected(word, row), 1e-5) << word;
    EXPECT_NEAR(vectors.require(word)[1], expected(word, row) + 1, 1e-5) << word;
  }
}

std::string bytes_of(std::initializer_list<float> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(float)};
}

TEST_F(DamagedVectors, Word2vecFiles) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  expect_refused("", " (byte 0): the file is empty (expected word vectors)");
  expect_refused("3 1\na 1\nb 2\n",
                 ":4: the number of words differs from the first line (expected 3, found 2 lines)");
  expect_refused("1 1\na 1\nb 2\n",
                 ":3: the number of words differs from the first line (expected 1, found 2 lines)");
  for (const std::string size : {"0", "1048577"})
    expect_refused("1 " + size + "\na 1 2\n",
                   ":1: vector size out of range (expected 1 to 1048576, found " + size + ")");
  expect_refused("2 3\na 1 2 3\n4 5\n",
                 ":3: the line has too few fields (expected a word and 3 numbers, found 2 fields)");
  expect_refused("2 2\na 1 2\n3 4\n",
                 ":3: the line has no word (expected a word and 2 numbers, found 2 numbers only)");
  expect_refused("2 2\na 1 2\nb 1 2 c 3 4\n",
                 ":3: the line has too many numbers (expected a word and 2 numbers, found 6 fields)");
  expect_refused("a 1 2\n",
                 ":1: the first line is not two numbers (expected COUNT SIZE, as word2vec writes it). "
                 "Remove --format: the file has the format glove",
                 Format::word2vec_text);
  expect_refused(
      "2 2\na " + bytes_of({1, 2}) + "b " + bytes_of({1}),
      " (byte 20): the file is shorter than its first line declares (expected 2 words with vectors of "
      "8 bytes, found 20 bytes)");
  expect_refused("2 2\na " + bytes_of({1, 2}) + "bbbbbbb " + bytes_of({1}),
                 " (byte 26): the file ends within a vector (found word 2 of 2)");
  expect_refused("2 2\na " + bytes_of({1, 2}) + "bbbbbbbbbbbbb",
                 " (byte 14): unterminated word (found word 2 of 2)");
  expect_refused("40000000 2\na " + bytes_of({1, 2}),
                 " (byte 21): the file is shorter than its first line declares (expected 40000000 words with "
                 "vectors of 8 bytes, found 21 bytes)",
                 Format::word2vec_binary);
  expect_refused("1 2\na " + bytes_of({1, 2}) + "b " + bytes_of({1, 2}),
                 " (byte 14): the file is longer than its first line declares (expected the end of the file "
                 "after 1 words, found 10 bytes)");
  expect_refused("2 1\na " + bytes_of({1}) + "b " + bytes_of({nan}),
                 " (byte 12): the vector at this position has a number that is not finite");
  expect_refused("1 2\na " + bytes_of({1, nan}),
                 " (byte 6): the vector at this position has a number that is not finite");
  expect_refused(
      "\xEF\xBB\xBF"
      "1 2\na " +
          bytes_of({1, 2}),
      " (byte 0): a binary file begins with a byte order mark (expected COUNT SIZE, as word2vec "
      "writes it)",
      Format::word2vec_binary);
}

// The four bytes of each vector are three letters and one byte outside ASCII.
TEST_F(DamagedVectors, OneByteOutsideAsciiMakesAFileBinary) {
  const WordVectors vectors = read(
      "2 1\na DCB\xBE"
      "b ABC\xBE");
  EXPECT_EQ(vectors.format(), Format::word2vec_binary);
  ASSERT_EQ(vectors.count(), 2u);
  for (const auto& [word, bits] : {std::pair{"a", 0xBE424344u}, {"b", 0xBE434241u}})
    EXPECT_EQ(vectors.require(word), std::vector<float>{std::bit_cast<float>(bits)});
}

// Numbers that are too small for f32 are zero, in every notation; numbers that are too large are refused.
TEST_F(DamagedVectors, NumbersBeyondFloat) {
  const WordVectors vectors = read("a 1e-50 -1E-400 0.000000000000000000000000000000000000000000000001 +2\n");
  std::vector<float> row(4);
  vectors.copy(0, row.data());
  EXPECT_EQ(row, (std::vector<float>{0.0f, 0.0f, 0.0f, 2.0f}));
  for (const std::string number : {"1e39", "-1E400", "+-1", "+", "1.5x", "nan", "-inf"})
    expect_refused("1 2\na 1 " + number + "\n",
                   ":2: not a finite number (expected a word and 2 numbers, found '" + number + "')");
}

TEST_F(DamagedVectors, WordsThatAFormatCannotStore) {
  const auto save = [&](Format format, const std::string& word) {
    save_vectors(folder_ / "saved", format, std::vector{word}, 1, std::vector<float>{1});
  };
  for (const std::string word : {"", "a\nb", "a\rb", "a b", "a\tb"})
    for (const Format format :
         {Format::word2vec_text, Format::word2vec_binary, Format::automatic, Format::glove}) {
      if (format == Format::glove && word.find_first_of(" \t") != std::string::npos) {
        save(format, word);
        EXPECT_EQ(testing::file_content(folder_ / "saved"), word + " 1\n");
        continue;
      }
      EXPECT_REGARD_ERROR(save(format, word), ErrorKind::usage, "the format cannot store this word");
    }
  EXPECT_REGARD_ERROR(
      save(Format::fasttext_binary, "a"), ErrorKind::usage,
      "writing fastText's binary format is not supported. Write word2vec's text or binary format");
}

// save_vectors() writes pieces of 1 MiB.
TEST_F(DamagedVectors, LongFilesAreWrittenWhole) {
  std::vector<std::string> words;
  std::vector<float> values;
  for (int i = 0; i < 400; ++i) {
    words.push_back("w" + std::to_string(i));
    for (int at = 0; at < 1000; ++at) values.push_back(static_cast<float>(i * 1000 + at));
  }
  for (const Format format : {Format::word2vec_text, Format::word2vec_binary}) {
    save_vectors(folder_ / "long", format, words, 1000, values);
    const WordVectors vectors = WordVectors::load(folder_ / "long", pool_);
    ASSERT_EQ(vectors.count(), 400u);
    EXPECT_EQ(vectors.require("w399"), std::vector<float>(values.end() - 1000, values.end()));
  }
}

class TrainingLimits : public DamagedVectors {
 protected:
  Corpus corpus(const std::vector<std::string>& lines = {"a b a c b", "c a b"}) {
    CorpusOptions options;
    options.min_count = 1;
    options.temporary = folder_.path();
    return read_corpus(text::lines_of(lines), options);
  }
  template <class Call>
  static void expect_usage(Call&& call, const std::string& message) {
    testing::expect_error_text(ErrorKind::usage, message, call);
  }
};

TEST_F(TrainingLimits, OfPairs) {
  const Corpus text = corpus();
  const auto train = [&](auto change) {
    PairOptions options;
    options.size = 2, options.epochs = 1, options.sample = 0;
    change(options);
    return train_pairs(text, options, pool_).words;
  };
  EXPECT_EQ(train([](PairOptions& o) { o.size = 8192, o.window = 1000, o.negative = 63; }), 3);
  EXPECT_EQ(train([](PairOptions& o) { o.size = o.window = o.negative = 1, o.subwords = {1, 1, 5}; }), 3);
  EXPECT_EQ(train([](PairOptions& o) { o.hierarchical = true, o.negative = 0; }), 3);
  const auto refused = [&](auto change, const std::string& message) {
    expect_usage([&] { train(change); }, message);
  };
  for (const std::int64_t size : {0, 8193})
    refused([&](PairOptions& o) { o.size = size; },
            "expected a vector size of 1 to 8192, found " + std::to_string(size));
  for (const int window : {0, 1001})
    refused([&](PairOptions& o) { o.window = window; },
            "expected a window of 1 to 1000 words, found " + std::to_string(window));
  for (const int negative : {0, 64})
    refused([&](PairOptions& o) { o.negative = negative; },
            "the number of negative samples is out of range (expected 1 to 63, found " +
                std::to_string(negative) + ")");
  refused([](PairOptions& o) { o.epochs = 0; }, "expected at least one epoch, found 0");
  for (const auto& [shortest, longest] : {std::pair{0, 3}, {4, 3}})
    refused(
        [&](PairOptions& o) {
          o.subwords = {shortest, longest, 5};
        },
        "the lengths of n-grams are out of range (expected minimum at least 1, maximum at least the minimum, "
        "found minimum " +
            std::to_string(shortest) + ", maximum " + std::to_string(longest) + ")");
  expect_usage([&] { train_pairs(corpus({"a a a"}), {}, pool_); },
               "the vocabulary is too small (expected at least 2, found 1 word). Lower --min-count, raise "
               "--max-words, or use more text");
}

TEST_F(TrainingLimits, OfGlove) {
  const Corpus text = corpus();
  const auto train = [&](auto change) {
    GloveOptions options;
    options.size = 2, options.epochs = 1, options.counting.temporary = folder_.path();
    change(options);
    return train_glove(text, options, pool_).values.size();
  };
  EXPECT_EQ(train([](GloveOptions& o) { o.size = 8192, o.counting.window = 1000; }), 3u * 8192u);
  EXPECT_EQ(train([](GloveOptions& o) { o.size = o.counting.window = 1; }), 3u);
  const auto refused = [&](auto change, const std::string& message) {
    expect_usage([&] { train(change); }, message);
  };
  for (const std::int64_t size : {0, 8193})
    refused([&](GloveOptions& o) { o.size = size; },
            "expected a vector size of 1 to 8192, found " + std::to_string(size));
  refused([](GloveOptions& o) { o.epochs = 0; }, "expected at least one epoch, found 0");
  refused([](GloveOptions& o) { o.x_max = 0; }, "expected an x_max above 0, found 0.000000");
  for (const int window : {0, 1001})
    refused([&](GloveOptions& o) { o.counting.window = window; },
            "expected a window of 1 to 1000 words, found " + std::to_string(window));
  GloveOptions defaults;
  defaults.counting.temporary = folder_.path();
  expect_usage(
      [&] {
        train_glove(corpus({"a", "b"}), defaults, pool_);
      },
      "no sentence has two words of the vocabulary. Lower --min-count, or use text with several words "
      "per line");
  EXPECT_REGARD_ERROR(train([](GloveOptions& o) { o.rate = 1e30, o.epochs = 5; }), ErrorKind::numeric,
                      "training diverged: the loss is not finite. Lower the learning rate");
}

}  // namespace
}  // namespace regard::vectors
