// Readers of word vectors: each format, and damaged files.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/random.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "vectors/save.h"
#include "vectors/word_vectors.h"

namespace regard::vectors {
namespace {

using testing::TemporaryFolder;
using testing::write_file;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::string floats(std::initializer_list<float> values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

class Reading : public ::testing::Test {
 protected:
  WordVectors read(const std::string& content, Format format = Format::automatic) {
    return WordVectors::load(write_file(folder_.path(), "v", content), pool_, format);
  }
  TemporaryFolder folder_;
  ThreadPool pool_{2};
};

void expect_vector(const WordVectors& vectors, std::string_view word, std::vector<float> expected) {
  const auto index = vectors.find(word);
  ASSERT_TRUE(index) << word;
  std::vector<float> ours(expected.size());
  vectors.copy(*index, ours.data());
  EXPECT_EQ(ours, expected) << word;
}

TEST_F(Reading, Word2vecText) {
  const auto vectors = read("3 2\nthe 0.5 -1e-3\nof\t+2 3 \r\n\xff\xfe 4 1e-50\n\n");
  EXPECT_EQ(vectors.format(), Format::word2vec_text);
  ASSERT_EQ(vectors.count(), 3u);
  EXPECT_EQ(vectors.size(), 2);
  expect_vector(vectors, "the", {0.5f, -1e-3f});
  expect_vector(vectors, "of", {2.0f, 3.0f});
  expect_vector(vectors, "\xff\xfe", {4.0f, 0.0f});  // not UTF-8: kept as bytes
  EXPECT_FALSE(vectors.find("a"));
  EXPECT_FLOAT_EQ(vectors.norm(2), 4.0f);
}

TEST_F(Reading, GloveWordsMayHoldBlanks) {
  const auto vectors = read("the 1 2\n. . 3 4\nat name 5 6\n\xc2\xa0 7 8\nlast 9 10");
  EXPECT_EQ(vectors.format(), Format::glove);
  ASSERT_EQ(vectors.count(), 5u);
  expect_vector(vectors, ". .", {3, 4});
  expect_vector(vectors, "at name", {5, 6});
  expect_vector(vectors, "\xc2\xa0", {7, 8});
  expect_vector(vectors, "last", {9, 10});
}

TEST_F(Reading, Word2vecBinaryWithAndWithoutLineEnds) {
  for (const std::string end : {"", "\n"}) {
    const auto vectors =
        read("2 3\nthe " + floats({1, 2, 3}) + end + "caf\xc3\xa9 " + floats({-4, 5, 1e-30f}) + end);
    EXPECT_EQ(vectors.format(), Format::word2vec_binary);
    ASSERT_EQ(vectors.count(), 2u);
    expect_vector(vectors, "the", {1, 2, 3});
    expect_vector(vectors, "caf\xc3\xa9", {-4, 5, 1e-30f});
  }
}

// A corpus may contain control characters, and `regard vectors train` writes its words.
TEST_F(Reading, AWordMayBeAControlCharacter) {
  for (const Format format : {Format::word2vec_text, Format::word2vec_binary, Format::glove}) {
    const std::vector<std::string> words{"\x01", "river"};
    save_vectors(folder_ / "saved", format, words, 2, std::vector<float>{0.5f, -0.25f, 1.5f, 2.0f});
    const auto vectors = WordVectors::load(folder_ / "saved", pool_);
    EXPECT_EQ(vectors.format(), format);
    expect_vector(vectors, "\x01", {0.5f, -0.25f});
  }
}

// In one of a few hundred binary files, the first vector begins with bytes that are valid text and a line
// end. Such a file must still be read as binary.
TEST_F(Reading, ALineEndWithinTheFirstVectorMakesNoText) {
  RandomStream random({.seed = 5});
  for (const std::size_t size : {4u, 10u, 100u})
    for (int round = 0; round < 200; ++round) {
      std::vector<float> values(size);
      for (float& value : values) value = random.next_uniform() - 0.5f;
      const std::size_t place = random.next() % 4;
      auto* bytes = reinterpret_cast<unsigned char*>(values.data());
      for (std::size_t at = 0; at < place; ++at)
        bytes[at] = static_cast<unsigned char>(0x30 + random.next() % 10);
      bytes[place] = '\n';
      if (place == 3) bytes[2] = 0x41;  // keep the value finite
      const auto vectors =
          read("1 " + std::to_string(size) + "\nthe " +
               std::string(reinterpret_cast<const char*>(values.data()), size * sizeof(float)));
      ASSERT_EQ(vectors.format(), Format::word2vec_binary) << size << " " << place;
      expect_vector(vectors, "the", values);
    }
}

TEST_F(Reading, OfRepeatedWordsTheFirstCounts) {
  const auto text = read("4 1\na 1\nb 2\na 3\nc 4\n");
  EXPECT_EQ(text.duplicates(), 1);
  ASSERT_EQ(text.count(), 3u);
  expect_vector(text, "a", {1});
  expect_vector(text, "c", {4});
  EXPECT_EQ(text.word(2), "c");
  const auto binary = read("3 2\na " + floats({1, 2}) + "a " + floats({3, 4}) + "b " + floats({5, 6}));
  EXPECT_EQ(binary.duplicates(), 1);
  expect_vector(binary, "a", {1, 2});
  expect_vector(binary, "b", {5, 6});
}

TEST_F(Reading, ManyLinesOverThreadsKeepTheirOrder) {
  std::string content = "3000 3\n";
  for (int i = 0; i < 3000; ++i)
    content += "w" + std::to_string(i) + " " + std::to_string(i) + " 0.25 -" + std::to_string(i) + "\n";
  const auto vectors = read(content);
  ASSERT_EQ(vectors.count(), 3000u);
  for (const int i : {0, 255, 256, 2999}) {
    EXPECT_EQ(vectors.word(static_cast<std::size_t>(i)), "w" + std::to_string(i));
    expect_vector(vectors, "w" + std::to_string(i), {static_cast<float>(i), 0.25f, static_cast<float>(-i)});
  }
}

struct Damage {
  const char* name;
  std::string content, message;
  Format format = Format::automatic;
};

TEST_F(Reading, DamageIsRefusedWithItsPlace) {
  std::string long_text = "1000 2\n";
  for (int i = 0; i < 1000; ++i)
    long_text += "w" + std::to_string(i) + (i == 700 || i == 900 ? " x 1\n" : " 1 1\n");
  const std::string word(70000, 'w');
  const std::vector<Damage> cases = {
      {"empty", "", "empty"},
      {"header only", "2 3\n", "the number of words differs"},
      {"too few lines", "3 1\na 1\nb 2\n", ":4: the number of words differs"},
      {"too many lines", "1 1\na 1\nb 2\n", ":3: the number of words differs"},
      {"few numbers", "2 3\na 1 2 3\nb 1 2\n", ":3: "},
      {"too many numbers", "2 2\na 1 2\nb 1 2 c 3 4\n", ":3: the line has too many numbers"},
      {"too many numbers after tabs", "2 2\na\t1\t2\nb\t1\t2\t3\t4\n", ":3: the line has too many numbers"},
      {"no word", "2 2\na 1 2\n3 4\n", ":3: the line has no word"},
      {"first of the wrong lines", long_text,
       ":702: not a finite number (expected a word and 2 numbers, found 'x'"},
      {"one number", "1 1\na x\n", ":2: not a finite number (expected a word and 1 number, found 'x'"},
      {"NaN", "1 2\na 1 nan\n", ":2: not a finite number"},
      {"infinity", "1 2\na inf 1\n", ":2: not a finite number"},
      {"too large", "1 2\na 1e39 1\n", ":2: not a finite number"},
      {"hexadecimal", "1 2\na 0x1p3 1\n", ":2: not a finite number"},
      {"glove, short line", "a 1 2\nb 1 2\nc 1\n", ":3: "},
      {"glove, blank line", "a 1 2\n\nc 1 2\n", ":2: "},
      {"huge count", "99999999999999 2\na 1 2\n", "a"},
      {"huge size", "1 99999999999999\na 1 2\n", ":1: vector size out of range"},
      {"size zero", "1 0\na\n", ":1: vector size out of range"},
      {"binary, huge count", "40000000 2\na " + floats({1, 2}), "shorter than its first line",
       Format::word2vec_binary},
      {"binary, cut", "2 2\na " + floats({1, 2}) + "b " + floats({1}), "(byte 20)"},
      {"binary, cut in a word", "2 2\na " + floats({1, 2}) + "bbbbbbbbbbbbbbbbbb",
       "(byte 14): unterminated word"},
      {"binary, endless word", "1 1\n" + word + floats({1}), "(byte 4): unterminated word",
       Format::word2vec_binary},
      {"binary, NaN", "2 1\na " + floats({1}) + "b " + floats({kNan}),
       "(byte 12): the vector at this position"},
      {"binary, more", "1 2\na " + floats({1, 2}) + "b " + floats({1, 2}), "(byte 14): the file is longer"},
      {"no header for word2vec", "a 1 2\n", ":1: the first line is not two numbers", Format::word2vec_text},
      {"another form than asked for", "2 2\na 1 2\nb 1 2\n", "has the format word2vec", Format::glove},
  };
  for (const Damage& damage : cases) {
    SCOPED_TRACE(damage.name);
    EXPECT_REGARD_ERROR(read(damage.content, damage.format), ErrorKind::bad_file, damage.message);
  }
}

// Return a fastText model with two words, minn 2, maxn 3 and four buckets.
std::string fasttext_model(const std::string& first_word = "ab") {
  std::string bytes;
  const auto put = [&bytes](auto value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (const std::int32_t number : {793712314, 12, 2, 5, 5, 1, 5, 1, 1, 2, 4, 2, 3, 100}) put(number);
  put(1e-4);
  for (const std::int32_t number : {2, 2, 0}) put(number);
  for (const std::int64_t number : {10, -1}) put(number);
  for (const std::string& word : {first_word, std::string("</s>")}) {
    bytes.append(word.c_str(), word.size() + 1);
    put(std::int64_t{5});
    put(std::int8_t{0});
  }
  put(std::uint8_t{0});
  for (const std::int64_t number : {6, 2}) put(number);
  for (int row = 0; row < 6; ++row) {
    put(static_cast<float>(row));
    put(static_cast<float>(10 * row));
  }
  return bytes;
}

// Return the same model with the output matrix, which the vectors do not need.
std::string whole_fasttext_model() {
  std::string bytes = fasttext_model();
  bytes += '\0';
  for (const std::int64_t number : {2, 2})
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  return bytes + floats({1, 2, 3, 4});
}

TEST_F(Reading, AFasttextModelCutBehindItsVectorsIsRefusedToo) {
  const std::string whole = whole_fasttext_model(), vectors = fasttext_model();
  EXPECT_EQ(read(whole).count(), 2u);
  for (std::size_t length = vectors.size() + 1; length < whole.size(); ++length)
    EXPECT_REGARD_ERROR(read(whole.substr(0, length)), ErrorKind::bad_file, "byte");
  EXPECT_REGARD_ERROR(read(whole + "x"), ErrorKind::bad_file, "unexpected bytes after");
}

TEST_F(Reading, FasttextBinary) {
  const auto vectors = read(fasttext_model());
  EXPECT_EQ(vectors.format(), Format::fasttext_binary);
  std::vector<std::int64_t> buckets;
  Subwords{2, 3, 4}.buckets_of("ab", buckets);
  ASSERT_EQ(buckets.size(), 5u);  // <a <ab ab ab> b>
  float sum = 0;                  // sum of the word's row, which is row 0, and the rows of its n-grams
  for (const std::int64_t bucket : buckets) sum += static_cast<float>(2 + bucket);
  expect_vector(vectors, "ab", {sum / 6.0f, 10.0f * sum / 6.0f});
  expect_vector(vectors, "</s>", {1, 10});  // </s> has no n-grams
  EXPECT_FALSE(vectors.find("abc"));
  EXPECT_EQ(vectors.require("abc").size(), 2u);
  EXPECT_REGARD_ERROR(read("\xEF\xBB\xBF" + fasttext_model()), ErrorKind::bad_file, "byte order mark");
}

TEST_F(Reading, AWordOfAFasttextModelHasALimitedLength) {
  EXPECT_EQ(read(fasttext_model(std::string(65536, 'a'))).count(), 2u);
  EXPECT_REGARD_ERROR(read(fasttext_model(std::string(65537, 'a'))), ErrorKind::bad_file,
                      "unterminated word");
}

TEST_F(Reading, EveryCutOfAFasttextModelIsRefused) {
  const std::string whole = fasttext_model();
  for (std::size_t length = 4; length < whole.size(); ++length) {
    SCOPED_TRACE(length);
    EXPECT_REGARD_ERROR(read(whole.substr(0, length)), ErrorKind::bad_file, "byte");
  }
  // Set each byte to extreme values. The file must give an error or other numbers, not a crash.
  for (std::size_t at = 4; at < whole.size(); ++at)
    for (const char value : {'\xff', '\x7f', '\0'}) {
      std::string changed = whole;
      changed[at] = value;
      try {
        const auto vectors = read(changed);
        EXPECT_LE(vectors.count(), 2u);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::bad_file) << error.what();
      }
    }
}

// Known values of fastText's hash (FNV-1a; bytes above 127 are sign-extended).
TEST(Subwords, HashAndCuts) {
  EXPECT_EQ(subword_hash(""), 2166136261u);
  EXPECT_EQ(subword_hash("a"), 0xE40C292Cu);
  EXPECT_EQ(subword_hash("foobar"), 0xBF9CF968u);
  std::vector<std::int64_t> buckets;
  const Subwords subwords{3, 3, std::int64_t{1} << 32};
  subwords.buckets_of("é日", buckets);  // <é日 é日>
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[0], subword_hash("<é日"));
  EXPECT_EQ(buckets[1], subword_hash("é日>"));
  Subwords{1, 2, std::int64_t{1} << 32}.buckets_of("a", buckets);  // <a a a>, but not < and > alone
  EXPECT_EQ(buckets.size(), 3u);
}

TEST(MadeVectors, RefusesWhatDoesNotFit) {
  const std::vector<std::string> twice{"a", "a"}, two{"a", "b"};
  EXPECT_REGARD_ERROR(WordVectors(twice, 1, {1, 2}), ErrorKind::usage, "same word");
  EXPECT_REGARD_ERROR(WordVectors(two, 2, {1, 2}), ErrorKind::usage, "2 × 2");
  EXPECT_REGARD_ERROR(WordVectors(two, 1, {1, kNan}), ErrorKind::usage, "finite");
  EXPECT_REGARD_ERROR(WordVectors(two, 1, {1, 2}).require("c"), ErrorKind::usage, "'c'");
}

}  // namespace
}  // namespace regard::vectors
