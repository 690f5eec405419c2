#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string>

#include "base/json.h"
#include "formats/checkpoint.h"
#include "formats/safetensors.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

using testing::golden;
using testing::run_program;
using testing::TemporaryFolder;

TEST(Info, ListsTheTensorsOfAFile) {
  const TemporaryFolder folder;
  const auto path = golden("safetensors/good/all_dtypes.safetensors").string();
  const auto result = run_program({"info", path, "--json"}, folder.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json json = parse_json(result.out, "out");
  EXPECT_EQ(json["kind"], "safetensors");
  EXPECT_EQ(json["tensor_count"], 15);
  EXPECT_EQ(json["tensors"].size(), 15u);
  EXPECT_EQ(json["dtypes"].size(), 15u);
  for (const auto& [dtype, elements] : json["dtypes"].items()) EXPECT_EQ(elements, 8) << dtype;
  EXPECT_EQ(json["numbers"], 120);
  EXPECT_EQ(json["bytes"], 392);
}

TEST(Info, PrintsTheTotalsAndTheTensorsOfAFile) {
  const TemporaryFolder folder;
  const formats::NamedTensor tensors[] = {{"a", Tensor::of({1, 2, 3})},
                                          {"a.longer.name", Tensor::empty({2, 3})},
                                          {"w", Tensor::empty({1, 2, 2})}};
  formats::write_safetensors(folder / "x.safetensors", tensors, {{"format", "pt"}});
  const auto text = run_program({"info", "x.safetensors"}, folder.path());
  EXPECT_EQ(text.out,
            "kind             safetensors\n"
            "path             x.safetensors\n"
            "tensor_count     3\n"
            "numbers          13\n"
            "bytes            52\n"
            "dtypes.F32       13\n"
            "metadata.format  pt\n"
            "  a              F32       [3]\n"
            "  a.longer.name  F32       [2, 3]\n"
            "  w              F32       [1, 2, 2]\n");
}

// For the index of a sharded model, the counts are totals over all files.
TEST(Info, DescribesShardsAndTokenizers) {
  const TemporaryFolder folder;
  const formats::NamedTensor first[] = {{"a", Tensor::of({1, 2, 3})}};
  const formats::NamedTensor second[] = {{"b", Tensor::of({1, 2})}, {"c", Tensor::of({1})}};
  formats::write_safetensors(folder / "1.safetensors", first, {{"one", "1"}});
  formats::write_safetensors(folder / "2.safetensors", second, {{"two", "2"}});
  write_file(folder.path(), "index.json",
             R"({"weight_map": {"a": "1.safetensors", "b": "2.safetensors", "c": "2.safetensors"}})");
  Json shards = parse_json(run_program({"info", "index.json", "--json"}, folder.path()).out, "out");
  EXPECT_EQ(shards["tensors"].size(), 3u);
  shards.erase("tensors");
  EXPECT_EQ(shards, Json({{"kind", "shards"},
                          {"path", "index.json"},
                          {"tensor_count", 3},
                          {"numbers", 6},
                          {"bytes", 24},
                          {"dtypes", {{"F32", 6}}},
                          {"metadata", {{"one", "1"}, {"two", "2"}}}}));
  write_file(folder.path(), "tokenizer.json",
             R"({"version": "1.0", "added_tokens": [{"id": 9, "content": "<s>", "special": true}],
                 "model": {"type": "BPE", "vocab": {"a": 4, "b": 5}, "merges": []}})");
  EXPECT_EQ(parse_json(run_program({"info", "tokenizer.json", "--json"}, folder.path()).out, "out"),
            Json({{"kind", "tokenizer"},
                  {"path", "tokenizer.json"},
                  {"type", "BPE"},
                  {"vocabulary_size", 10},
                  {"tokens", 3}}));
  write_file(folder.path(), "config.json", R"({"model_type": "bert"})");
  EXPECT_EQ(parse_json(run_program({"info", "config.json", "--json"}, folder.path()).out, "out"),
            Json({{"kind", "config"}, {"path", "config.json"}, {"config", {{"model_type", "bert"}}}}));
}

TEST(Info, ANameThatIsNotUtf8IsWrittenWithReplacements) {
  const TemporaryFolder folder;
  std::filesystem::copy_file(golden("safetensors/good/all_dtypes.safetensors"), folder / "s\xE9.safetensors");
  const auto result = run_program({"info", "s\xE9.safetensors", "--json"}, folder.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("s\uFFFD.safetensors"), std::string::npos) << result.out;
}

// Older BERT folders have vocab.txt instead of tokenizer.json.
TEST(Info, ShowsATokenizerOfAnyFormat) {
  const TemporaryFolder folder;
  const auto model = folder / "model";
  std::filesystem::create_directory(model);
  for (const char* name : {"config.json", "model.safetensors"})
    std::filesystem::copy_file(golden("hf-more/st-mean") / name, model / name);
  const auto info = [&] {
    const auto result = run_program({"info", "model", "--json"}, folder.path());
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return parse_json(result.out, "out");
  };
  EXPECT_FALSE(info().contains("tokenizer"));
  testing::write_file(model, "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nriver\n");
  EXPECT_EQ(info()["tokenizer"]["type"], "WordPiece");
  EXPECT_EQ(info()["tokenizer"]["tokens"], 6);
}

// Every documented value of REGARD_ISA limits the instruction set, on every machine. Other values are
// rejected.
TEST(Info, NamesTheInstructionSetThatTheEnvironmentCaps) {
  const TemporaryFolder folder;
  const auto isa_with = [&](const char* cap) {
    ::setenv("REGARD_ISA", cap, 1);
    const auto result = run_program({"info", "--json"}, folder.path());
    return result.exit_code == 0 ? parse_json(result.out, "out").at("isa").get<std::string>() : result.err;
  };
  const char* set = std::getenv("REGARD_ISA");
  const std::string before = set == nullptr ? "" : set;
  const std::string widest = isa_with("");
  EXPECT_EQ(isa_with("amx"), widest);  // the value is a limit: the machine may lack AMX
  if (widest != "neon") {
    EXPECT_EQ(isa_with("avx2"), "avx2");
    EXPECT_EQ(isa_with("avx512"), widest);
  }
  EXPECT_NE(isa_with("avx1024").find("expected one of neon, avx2, avx512, amx"), std::string::npos);
  ::setenv("REGARD_ISA", before.c_str(), 1);
}

TEST(Info, DescribesARunAndItsBestModel) {
  const TemporaryFolder folder;
  {
    const auto run = formats::RunFolder::create(folder / "run", "task = \"translation\"\n");
    for (const int step : {10, 20}) {
      formats::CheckpointWriter writer(run, step);
      writer.add_text("config.json", R"({"model_type": "regard-transformer"})");
      const std::vector<formats::NamedTensor> tensors = {{"w", Tensor::of({1, 2, 3})}};
      writer.add_tensors("model.safetensors", tensors);
      writer.commit({step == 10, 2});
    }
  }
  // the last line is incomplete
  for (const std::string line :
       {"{\"st", "{\"step\": 30, \"validation\": {\"loss\": 1.2}", "{\"text\": \"\xC3"}) {
    write_file_atomically(folder / "run/log.jsonl", "{\"step\": 10}\n{\"step\": 20, \"loss\": 1.5}\n" + line);
    const auto logged = run_program({"info", "run", "--json"}, folder.path());
    ASSERT_EQ(logged.exit_code, 0) << logged.err;
    EXPECT_EQ(parse_json(logged.out, "out")["log"]["loss"], 1.5) << line;
  }
  const auto result = run_program({"info", "run", "--json"}, folder.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json json = parse_json(result.out, "out");
  EXPECT_EQ(json["task"], "translation");
  EXPECT_EQ(json["checkpoints"].dump(), "[10,20]");
  EXPECT_EQ(json["latest"], 20);
  EXPECT_EQ(json["best"], 10);
  EXPECT_EQ(json["model"]["numbers"], 3);
  EXPECT_EQ(json["log"]["loss"], 1.5);
  const auto checkpoint = run_program({"info", "run/latest", "--json"}, folder.path());
  EXPECT_EQ(parse_json(checkpoint.out, "out")["kind"], "checkpoint") << checkpoint.err;
}

// A log that is not a regular file is not opened: opening a FIFO would block.
TEST(Info, DoesNotWaitForALogThatIsAFifo) {
  const TemporaryFolder folder;
  testing::write_file(folder / "run", "run.toml", "task = \"translation\"\n");
  std::filesystem::create_directory(folder / "run/checkpoints");
  ASSERT_EQ(::mkfifo((folder / "run/log.jsonl").c_str(), 0600), 0);
  const auto result = run_program({"info", "run", "--json"}, folder.path(), "", 10);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FALSE(parse_json(result.out, "out").contains("log"));
}

TEST(Info, SaysWhatItCannotRead) {
  const TemporaryFolder folder;
  testing::write_file(folder.path(), "x.gguf", "GGUF");
  testing::write_file(folder.path(), "x.json", "{}");
  testing::write_file(folder.path(), "x.txt", "text");
  testing::write_file(folder.path(), "x.safetensors", "short");
  testing::write_file(folder.path(), "empty/readme", "");
  const struct {
    const char *path, *part;
    int code;
  } kCases[] = {{"none", "no such file", 4},
                {"x.gguf", "GGUF files are not supported", 3},
                {"x.json", "unknown kind of JSON", 3},
                {"x.txt",
                 "unknown kind of file (expected *.safetensors, pytorch_model.bin, tokenizer.json, "
                 "config.json, an index of shards, or a folder)",
                 3},
                {"x.safetensors", "too short", 3},
                {"empty", "no config.json", 3}};
  for (const auto& one : kCases) {
    const auto result = run_program({"info", one.path}, folder.path());
    EXPECT_EQ(result.exit_code, one.code) << one.path;
    EXPECT_NE(result.err.find(one.part), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

TEST(Info, WithoutAPathNamesTheInstructionSet) {
  const TemporaryFolder folder;
  const auto result = run_program({"info", "--json"}, folder.path());
  EXPECT_TRUE(parse_json(result.out, "out").contains("isa"));
}

}  // namespace
}  // namespace regard::testing
