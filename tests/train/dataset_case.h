// Corpora in a temporary folder, read and encoded as a run does.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/temporary_folder.h"
#include "tiny_task.h"
#include "train/tasks/language_model.h"
#include "train/tasks/translation.h"

namespace regard::train {

using regard::testing::write_file;
using Ids = std::vector<std::int32_t>;

class DatasetTest : public ::testing::Test {
 protected:
  RunConfig translation() {
    RunConfig config;
    config.data.train = {(folder_ / "train.en").string(), (folder_ / "train.de").string()};
    config.data.valid = {(folder_ / "valid.en").string(), (folder_ / "valid.de").string()};
    config.tokenizer.type = "char";
    return config;
  }
  RunConfig language_model(const std::string& text) {
    write_file(folder_.path(), "train.txt", text);
    RunConfig config;
    config.task = "language-model";
    config.data.train = {(folder_ / "train.txt").string()};
    config.data.valid_fraction = 0.25;
    config.tokenizer.type = "char";
    return config;
  }
  // Write train.en and train.de with the pairs "word 0" and "wort 0", "word 1" and "wort 1", …
  void write_numbered_pairs(int count) {
    std::string source, target;
    for (int i = 0; i < count; ++i) {
      source += "word " + std::to_string(i) + "\n";
      target += "wort " + std::to_string(i) + "\n";
    }
    write_file(folder_.path(), "train.en", source);
    write_file(folder_.path(), "train.de", target);
  }
  Tokenizers obtain(const RunConfig& config) { return obtain_tokenizers(config, *make_task(config), pool_); }
  PairData load(const RunConfig& config) {
    tokenizers_ = obtain(config);
    return load_pairs(config, tokenizers_, pool_);
  }
  StreamData load_text(const RunConfig& config) {
    tokenizers_ = obtain(config);
    return load_streams(config, tokenizers_, pool_);
  }
  Ids with_end(const text::Tokenizer& tokenizer, const std::string& text) {
    Ids ids = tokenizer.encode_ids(text, {.add_special = false});
    ids.push_back(special_ids(tokenizer).end);
    return ids;
  }
  static Ids of(std::span<const std::int32_t> ids) { return {ids.begin(), ids.end()}; }

  regard::testing::TemporaryFolder folder_;
  ThreadPool pool_{2};
  Tokenizers tokenizers_;
};

}  // namespace regard::train
