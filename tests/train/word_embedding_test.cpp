// Initialising an embedding with word vectors, called as by a user.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "base/json.h"
#include "formats/safetensors.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "tiny_task.h"

namespace regard::train {
namespace {

using regard::testing::run_program;

class WordEmbedding : public ::testing::Test {
 protected:
  WordEmbedding() {
    testing_task::write_run(folder.path());
    std::string vectors;  // text in GloVe's format; "elf" is not in the corpus
    const std::vector<std::string> words{"one", "two", "three", "elf", "vier"};
    for (std::size_t w = 0; w < words.size(); ++w) {
      vectors += words[w];
      for (std::size_t i = 0; i < 16; ++i) vectors += " " + std::to_string(value(w, i));
      vectors += "\n";
    }
    regard::testing::write_file(folder.path(), "vectors.txt", vectors);
  }
  static float value(std::size_t word, std::size_t at) {
    return 0.125f * static_cast<float>(word + 1) - 0.0625f * static_cast<float>(at);
  }

  regard::testing::ProgramResult train(std::vector<std::string> more) {
    std::vector<std::string> arguments{"train", "run.toml",
                                       "-t",    "1",
                                       "--set", "tokenizer.type=word",
                                       "--set", "model.vectors=vectors.txt",
                                       "--set", "training.max_steps=12"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments, folder.path());
  }
  // Return the row of a token in the checkpoint's embedding.
  std::vector<float> row(const std::string& run, const std::string& token,
                         const std::string& table = "embedding.weight",
                         const std::string& vocabulary = "tokenizer.json") {
    const Json tokenizer = read_json((folder / run / vocabulary).string());
    const auto id = tokenizer.at("model").at("vocab").at(token).get<std::int64_t>();
    const auto file = formats::SafetensorsFile::open(folder / run / "latest" / "model.safetensors");
    const Tensor weights = file->tensor(table);
    return {weights.row(id), weights.row(id) + weights.columns()};
  }
  static std::vector<float> vector_of(std::size_t word) {
    std::vector<float> values;
    for (std::size_t i = 0; i < 16; ++i) values.push_back(value(word, i));
    return values;
  }
  regard::testing::TemporaryFolder folder;
};

TEST_F(WordEmbedding, FrozenItStaysWhatTheFileSays) {
  const auto result = train({"--set", "model.freeze_vectors=true"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(row("run", "one"), vector_of(0));
  EXPECT_EQ(row("run", "three"), vector_of(2));
  EXPECT_EQ(row("run", "vier"), vector_of(4));
  // A frozen weight has no optimiser moments.
  const auto state =
      formats::SafetensorsFile::open(folder / "run" / "checkpoints" / "12" / "optimizer.safetensors");
  EXPECT_EQ(state->find("first.embedding.weight"), nullptr);
}

TEST_F(WordEmbedding, NotFrozenItStartsThereAndMoves) {
  ASSERT_EQ(train({"--set", "training.learning_rate=0"}).exit_code, 0);
  EXPECT_EQ(row("run", "two"), vector_of(1));
  EXPECT_NE(row("run", "six"), vector_of(1));
  ASSERT_EQ(train({"--set", "output.folder=moved"}).exit_code, 0);
  EXPECT_NE(row("moved", "two"), vector_of(1));
}

TEST_F(WordEmbedding, WithTwoVocabulariesItIsTheSources) {
  ASSERT_EQ(train({"--set", "tokenizer.joint=false", "--set", "model.tie_embeddings=decoder", "--set",
                   "model.freeze_vectors=true"})
                .exit_code,
            0);
  EXPECT_EQ(row("run", "one", "encoder.embedding.weight", "source_tokenizer.json"), vector_of(0));
  EXPECT_NE(row("run", "vier", "decoder.embedding.weight"), vector_of(4));
}

TEST_F(WordEmbedding, FrozenRunsResumeToTheSameBits) {
  ASSERT_EQ(train({"--set", "model.freeze_vectors=true"}).exit_code, 0);
  ASSERT_EQ(train({"--set", "model.freeze_vectors=true", "--set", "output.folder=parts", "--set",
                   "training.max_steps=6"})
                .exit_code,
            0);
  ASSERT_EQ(
      train({"--set", "model.freeze_vectors=true", "--set", "output.folder=parts", "--resume"}).exit_code, 0);
  const auto weights = [&](const char* run) {
    return regard::testing::file_content(folder / run / "checkpoints" / "12" / "model.safetensors");
  };
  EXPECT_EQ(weights("run"), weights("parts"));
}

// Write a run file of a classifier with the given keys of [model].
void write_classifier(const std::filesystem::path& folder, const std::string& model) {
  regard::testing::write_file(folder, "labels.tsv", "one two\ta\nthree two one\tb\none\ta\nthree\tb\n");
  regard::testing::write_file(folder, "run.toml", R"(task = "classification"
[data]
train = ["labels.tsv"]
valid = ["labels.tsv"]
columns = [1, 2]
max_length = 16
[training]
learning_rate = 0
max_steps = 2
[validation]
metrics = ["loss"]
[model]
)" + model);
}

// The parameters of transformers' encoders have other names, and there are also embeddings of positions and
// token types.
TEST_F(WordEmbedding, EveryFamilyOfEncodersTakesVectors) {
  for (const std::string family : {"bert", "roberta", "cnn"}) {
    write_classifier(folder.path(),
                     std::string("layers = 1\nhidden_size = 16\n") + (family == "cnn" ? "" : "heads = 2\n"));
    const auto result = train({"--set", "model.family=" + family, "--set", "output.folder=" + family});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const std::string table =
        family == "cnn" ? "embedding.weight" : family + ".embeddings.word_embeddings.weight";
    EXPECT_EQ(row(family, "three", table), vector_of(2));
  }
  const auto size =
      train({"--set", "model.family=cnn", "--set", "model.embedding_size=8", "--set", "output.folder=small"});
  EXPECT_EQ(size.exit_code, 2);
  EXPECT_NE(size.err.find("Set 'model.embedding_size' to 16"), std::string::npos) << size.err;
}

TEST_F(WordEmbedding, WhatDoesNotFitIsRefused) {
  const auto size = train({"--set", "model.hidden_size=24"});
  EXPECT_EQ(size.exit_code, 2);
  EXPECT_NE(size.err.find("model.hidden_size"), std::string::npos) << size.err;
  const auto letters = train({"--set", "tokenizer.type=char", "--set", "output.folder=letters"});
  EXPECT_EQ(letters.exit_code, 2);
  EXPECT_NE(letters.err.find("tokenizer.type"), std::string::npos) << letters.err;
  const auto missing = train({"--set", "model.vectors=nowhere.txt"});
  EXPECT_EQ(missing.exit_code, 4);
  const auto nothing = train({"--set", "model.vectors=", "--set", "model.freeze_vectors=true"});
  EXPECT_EQ(nothing.exit_code, 2);
  // A rejected run leaves no folder.
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
  EXPECT_FALSE(std::filesystem::exists(folder / "letters"));
}

}  // namespace
}  // namespace regard::train
