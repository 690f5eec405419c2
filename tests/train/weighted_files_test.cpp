// data.weights: how often an epoch contains the examples of each file, for each task that has the key.
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "dataset_case.h"
#include "run_case.h"
#include "support/throws.h"
#include "train/examples.h"

namespace regard::train {
namespace {

// Return how often each example occurs in each of the first `epochs` epochs.
std::vector<std::map<std::size_t, int>> occurrences(std::size_t examples,
                                                    const std::vector<data::WeightedSource>& sources,
                                                    std::size_t epochs) {
  std::vector<std::map<std::size_t, int>> counts;
  const auto append = [&](Batch&, std::size_t example, std::uint64_t epoch, std::uint64_t) {
    counts.resize(std::max<std::size_t>(counts.size(), epoch + 1));
    ++counts[epoch][example];
  };
  const auto batches = example_batches(examples, 3, 1, append, sources);
  Batch batch;
  while (counts.size() <= epochs) batches->next(batch, 0);
  counts.resize(epochs);
  return counts;
}

TEST(WeightedSources, AnEpochContainsTheExamplesAsOftenAsTheWeightSays) {
  const auto counts = occurrences(30, {{10, 2.0}, {20, 0.0}, {30, 1.5}}, 40);
  int third = 0;
  for (const auto& epoch : counts) {
    for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(epoch.at(i), 2);
    for (std::size_t i = 10; i < 20; ++i) EXPECT_FALSE(epoch.contains(i));
    for (std::size_t i = 20; i < 30; ++i) {
      EXPECT_GE(epoch.at(i), 1);
      EXPECT_LE(epoch.at(i), 2);
      third += epoch.at(i);
    }
  }
  EXPECT_NEAR(third / 400.0, 1.5, 0.1);
  EXPECT_NE(counts[0], counts[1]) << "the further occurrences are drawn again in each epoch";
}

TEST(WeightedSources, EpochsWithoutExamplesAreLeftOut) {
  const auto counts = occurrences(2, {{2, 0.5}}, 200);
  int all = 0, empty = 0;
  for (const auto& epoch : counts) {
    for (const auto& [example, count] : epoch) all += count;
    empty += epoch.empty() ? 1 : 0;
  }
  EXPECT_NEAR(all, 200, 40);
  EXPECT_GT(empty, 20);
}

TEST(WeightedSources, FewerThanOneExamplePerEpochAreRefused) {
  const AppendExample append = [](Batch&, std::size_t, std::uint64_t, std::uint64_t) {};
  EXPECT_REGARD_ERROR(example_batches(3, 1, 1, append, {{0, 1.0}, {3, 0.0}}), ErrorKind::usage,
                      "an epoch has less than one example");
  EXPECT_REGARD_ERROR(example_batches(3, 1, 1, append, {{3, 0.3}}), ErrorKind::usage, "data.weights");
  EXPECT_NE(example_batches(4, 1, 1, append, {{4, 0.25}}), nullptr);
}

TEST(WeightedSources, FilesWithoutExamplesKeepTheirPlace) {
  data::SourceCounter counter;
  counter.set(1, 4);
  counter.set(1, 5);
  counter.set(3, 7);
  EXPECT_EQ(counter.ends(), (std::vector<std::size_t>{0, 5, 5, 7}));
  const auto sources = data::weighted_sources(counter.ends(), std::vector{1.0, 2.0, 3.0, 4.0, 5.0});
  ASSERT_EQ(sources.size(), 5u);
  EXPECT_EQ(sources[4].end, 7u);
  EXPECT_EQ(data::examples_per_epoch(sources), 5 * 2.0 + 2 * 4.0);
}

TEST(WeightedSources, ExamplesAreCountedBySource) {
  const std::vector<std::size_t> source_of{0, 0, 2, 2, 2, 3};
  const data::SourceCounter counter(source_of.size(), [&](std::size_t i) { return source_of[i]; });
  EXPECT_EQ(counter.ends(), (std::vector<std::size_t>{2, 2, 5, 6}));
}

TEST(WeightedWindows, StartInASourceAsOftenAsItsWeightSays) {
  std::vector<std::int32_t> stream(1000);
  std::iota(stream.begin(), stream.end(), 0);
  for (const bool random : {true, false}) {
    const auto batches = window_batches(stream, {.batch_size = 10,
                                                 .context = 10,
                                                 .random = random,
                                                 .seed = 1,
                                                 .sources = {{600, 0.5}, {700, 0.0}, {1000, 2.0}}});
    Batch batch;
    int first = 0, none = 0, last = 0;
    while (batches->epochs() < 20) {
      batches->next(batch, 0);
      for (std::size_t i = 0; i < batch.ids.size(); i += 10) {
        const std::int32_t start = batch.ids[i];
        ASSERT_LE(start, 989);
        ++(start < 600 ? first : start < 700 ? none : last);
      }
    }
    EXPECT_EQ(none, 0);
    // 600 · 0.5 and 300 · 2 tokens, in windows of 10
    EXPECT_NEAR(first, 20 * 30, 90) << random;
    EXPECT_NEAR(last, 20 * 60, 90) << random;
  }
  EXPECT_REGARD_ERROR(window_batches(stream, {.context = 10, .sources = {{990, 0.0}, {1000, 1.0}}}),
                      ErrorKind::usage, "an epoch has less than one example");
  EXPECT_REGARD_ERROR(window_batches(stream, {.context = 10, .sources = {{9, 1.0}, {1000, 0.0}}}),
                      ErrorKind::usage, "an epoch has less than one example");
  // Consecutive windows start at 0, 10, 20, …, so none starts at the tokens 501 to 509.
  const std::vector<data::WeightedSource> between{{501, 0.0}, {510, 20.0}, {1000, 0.0}};
  EXPECT_REGARD_ERROR(window_batches(stream, {.context = 10, .random = false, .sources = between}),
                      ErrorKind::usage, "an epoch has less than one example");
  Batch batch;
  window_batches(stream, {.batch_size = 1, .context = 10, .sources = between})->next(batch, 0);
  EXPECT_EQ(batch.labels.size(), 10u);
}

class WeightedStreams : public DatasetTest {
 protected:
  RunConfig config(const std::string& ending) {
    RunConfig config;
    config.task = "language-model";
    for (const char* name : {"a", "b", "c"})
      config.data.train.push_back((folder_ / (name + ending)).string());
    config.data.valid = {(folder_ / ("v" + ending)).string()};
    config.data.weights = {1.0, 2.0, 0.5};
    config.tokenizer.type = "char";
    config.training.max_steps = 1;
    config.output.folder = (folder_ / "run").string();
    return config;
  }
  StreamData load_again(const RunConfig& config) {
    tokenizers_ = obtain(config);
    return load_streams(config, tokenizers_, pool_);
  }
};

TEST_F(WeightedStreams, EndWhereTheFilesEnd) {
  for (const auto& [name, text] :
       {std::pair("a.txt", "abc\n"), {"b.txt", ""}, {"c.txt", "ab"}, {"v.txt", "abc"}})
    write_file(folder_.path(), name, text);
  RunConfig running = config(".txt");
  for (const char* cache : {"never", "always", "always"}) {
    running.data.cache = cache;
    EXPECT_EQ(load_again(running).ends, (std::vector<std::size_t>{4, 4, 6})) << cache;
  }
  running.data.weights.clear();
  EXPECT_TRUE(load_again(running).ends.empty());
  for (const auto& [name, text] :
       {std::pair("a.tsv", "abc\nb\n"), {"b.tsv", "a\n"}, {"c.tsv", "ab\n"}, {"v.tsv", "abc\n"}})
    write_file(folder_.path(), name, text);
  RunConfig records = config(".tsv");
  records.data.columns = {"1"};
  EXPECT_EQ(load_again(records).ends,
            (std::vector<std::size_t>{6, 8, 11}));  // with an end token after each record
}

TEST_F(WeightedStreams, OfRunningTextNeedAValidationFile) {
  write_file(folder_.path(), "a.txt", "abc");
  RunConfig run = config(".txt");
  run.data.valid.clear();
  run.data.valid_fraction = 0.1;
  EXPECT_REGARD_ERROR(check_run(run), ErrorKind::usage, "'data.weights' needs 'data.valid'");
}

// A task with two training files that have the same texts with different labels. Tokenizers and label names
// are then the same with only the first file.
struct WeightedTask {
  const char* name;
  const char* task;
  const char* file;           // end of the names of both files: "a" + file, "b" + file
  std::string a, b;           // content of the files
  const char* columns;        // further lines of [data]
  const char* sections = "";  // further sections
};

std::string questions(const char* answer, int start) {
  std::string text = "{\"data\": [";
  for (int i = 0; i < 6; ++i)
    text += std::string(i == 0 ? "" : ", ") + "{\"title\": \"t" + std::to_string(i) +
            "\", \"paragraphs\": [{\"context\": \"red blue\", \"qas\": [{\"id\": \"" + answer +
            std::to_string(i) + "\", \"question\": \"red or blue\", \"answers\": [{\"text\": \"" + answer +
            "\", \"answer_start\": " + std::to_string(start) + "}]}]}]}";
  return text + "]}";
}

std::string repeated(const std::string& rows) {
  std::string text;
  for (int i = 0; i < 6; ++i) text += rows;
  return text;
}

void PrintTo(const WeightedTask& one, std::ostream* out) {
  *out << one.name;
}

class WeightedFiles : public RunCase, public ::testing::WithParamInterface<WeightedTask> {
 protected:
  std::string trained(const std::string& name, const std::string& data) {
    const WeightedTask& one = GetParam();
    std::filesystem::remove(folder / "run.toml");
    regard::testing::write_file(
        folder.path(), "run.toml",
        std::string("task = \"") + one.task + "\"\n[data]\n" + data + "\nvalid = [\"a" + one.file + "\"]\n" +
            one.columns +
            "max_length = 12\n[tokenizer]\ntype = \"wordpiece\"\nvocab_size = 40\n[model]\nfamily = "
            "\"bert\"\n"
            "layers = 1\nhidden_size = 8\nheads = 2\nfeed_forward_size = 8\n[training]\nlearning_rate = "
            "1e-2\n"
            "schedule = \"constant\"\nbatch_size = 4\nmax_steps = 6\n[validation]\nevery_steps = 0\n"
            "[output]\nfolder = \"" +
            name + "\"\n" + one.sections);
    const ProgramResult result = train({"-q"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return weights(name);
  }
};

TEST_P(WeightedFiles, AFileWithWeightZeroIsNotUsed) {
  const WeightedTask& one = GetParam();
  const std::string a = std::string("a") + one.file, b = std::string("b") + one.file;
  regard::testing::write_file(folder.path(), a, one.a);
  regard::testing::write_file(folder.path(), b, one.b);
  const std::string both = "train = [\"" + a + "\", \"" + b + "\"]\n";
  const std::string only = trained("only", "train = [\"" + a + "\"]\n");
  EXPECT_TRUE(trained("first", both + "weights = [1, 0]") == only);
  const std::string equal = trained("one", both + "weights = [1, 1]"), without = trained("both", both);
  // With weights, no block of a masked language model contains text of two files.
  if (std::string(one.task) != "masked-language-model") {
    EXPECT_TRUE(equal == without);
  }
  EXPECT_FALSE(weights("both") == only);
  EXPECT_FALSE(trained("second", both + "weights = [0, 1]") == only);
}

INSTANTIATE_TEST_SUITE_P(
    Tasks, WeightedFiles,
    ::testing::Values(
        WeightedTask{"classification", "classification", ".tsv", repeated("red blue\tx\nblue\ty\n"),
                     repeated("red blue\ty\nblue\tx\n"), "columns = [1, 2]\n"},
        WeightedTask{"labelled_lines", "classification", ".txt", repeated("x red blue\ny blue\n"),
                     repeated("y red blue\nx blue\n"), ""},
        WeightedTask{"tagged_rows", "token-classification", ".tsv", repeated("red blue\tX Y\nblue\tY\n"),
                     repeated("red blue\tY X\nblue\tX\n"), "columns = [1, 2]\n"},
        WeightedTask{"tagged_words", "token-classification", ".conll",
                     repeated("red X\nblue Y\n\nblue Y\n\n"), repeated("red Y\nblue X\n\nblue X\n\n"), ""},
        WeightedTask{"questions", "question-answering", ".json", questions("red", 0), questions("blue", 4),
                     "", "[questions]\nstride = 4\n"},
        WeightedTask{"pairs", "embedding", ".tsv", repeated("red\tred blue\nblue\tblue red\n"),
                     repeated("blue\tred blue\nred\tblue red\n"), "columns = [1, 2]\n"},
        WeightedTask{"scores", "embedding", ".tsv", repeated("red\tblue\t1\nblue\tred\t0\n"),
                     repeated("red\tblue\t0\nblue\tred\t1\n"), "columns = [1, 2, 3]\n",
                     "[embedding]\nloss = \"cosine\"\n"},
        WeightedTask{"masks", "masked-language-model", ".txt", repeated("red blue red blue red blue red\n"),
                     repeated("blue red blue red blue red red\n"), ""}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace regard::train
