// `regard bench` prints one JSON object per line, with the keys that other programs read.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <tuple>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/timing.h"
#include "kernels/bf16.h"
#include "support/environment.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

// Return the CPU time of all programs that this test has run.
double children_cpu_ms() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto ms = [](const timeval& time) {
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

// Run the program and return the JSON line that it prints. Check that each processor time in this line is at
// most the processor time of the whole process.
Json line_of(const std::vector<std::string>& arguments) {
  const double before = children_cpu_ms();
  const ProgramResult result = run_program(arguments, ::testing::TempDir());
  const double used = children_cpu_ms() - before;
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1) << result.out;
  Json line = parse_json(result.out, "stdout");
  // sweep_processor_ms is extrapolated from a few heads, so it may be larger
  for (const auto& [key, value] : line.items()) {
    const bool processor = key.ends_with("processor_ms") || key.ends_with("cpu_ms");
    if (!processor || key == "sweep_processor_ms") continue;
    EXPECT_LE(value.get<double>(), used) << key;
  }
  return line;
}

void expect_positive(const Json& line, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    ASSERT_TRUE(line.contains(key)) << key;
    EXPECT_GT(line[key].get<double>(), 0.0) << key;
  }
}

// The programs that a test starts measure for a short time only.
class ShortBench : public ::testing::Test {
  const Environment environment_{Environment::Variables{{"REGARD_BENCH_SECONDS", "0.02"}}};
};

TEST_F(ShortBench, GemmReportsItsShapeAndSpeed) {
  const Json line =
      line_of({"bench", "gemm", "--m", "5", "--n", "6", "--k", "7", "--transpose-b", "-t", "1"});
  EXPECT_EQ(line["bench"], "gemm");
  EXPECT_EQ(line["dtype"], "f32");
  EXPECT_EQ(line["threads"], 1);
  EXPECT_EQ(line["n"], 6);
  EXPECT_TRUE(line["isa"].is_string());
  expect_positive(line, {"ms", "best_ms", "gflops"});
  EXPECT_LE(line["best_ms"].get<double>(), line["ms"].get<double>());
}

TEST_F(ShortBench, AttentionReportsForwardAndBoth) {
  const Json line = line_of({"bench", "attention", "--batch", "2", "--heads", "4", "--kv-heads", "2", "--seq",
                             "16", "--dim", "8", "--causal", "--backward", "-t", "1"});
  EXPECT_EQ(line["bench"], "attention");
  expect_positive(line,
                  {"fwd_ms", "fwd_best_ms", "fwd_gflops", "fwdbwd_ms", "fwdbwd_best_ms", "fwdbwd_gflops"});
  // Two products of 2 · 16 · 16 · 8 operations for each of 8 heads, half of them masked; backward has five.
  const double operations = 2 * 2.0 * 16 * 16 * 8 * 8 / 2;
  EXPECT_NEAR(line["fwd_gflops"].get<double>() * line["fwd_ms"].get<double>() * 1e6, operations, 5);
  EXPECT_NEAR(line["fwdbwd_gflops"].get<double>() * line["fwdbwd_ms"].get<double>() * 1e6, 3.5 * operations,
              15);
  const Json whole = line_of({"bench", "attention", "--heads", "3", "--seq", "8", "--dim", "4", "-t", "1"});
  EXPECT_NEAR(whole["fwd_gflops"].get<double>() * whole["fwd_ms"].get<double>() * 1e6, 4.0 * 3 * 8 * 8 * 4,
              1);
  const Json expected{{"batch", 1}, {"heads", 3},      {"kv_heads", 3}, {"seq", 8},
                      {"dim", 4},   {"causal", false}, {"dtype", "f32"}};
  for (const auto& [key, value] : expected.items()) EXPECT_EQ(whole[key], value) << key;
  for (const auto& [key, value] : whole.items()) EXPECT_FALSE(key.starts_with("fwdbwd")) << key;
}

TEST_F(ShortBench, RecurrentReportsForwardAndBoth) {
  for (const char* cell : {"rnn", "lstm", "gru"}) {
    const Json line = line_of({"bench", "recurrent", "--cell", cell, "--batch", "2", "--length", "5",
                               "--hidden", "8", "--input", "4", "-t", "1"});
    EXPECT_EQ(line["bench"], "recurrent");
    EXPECT_EQ(line["cell"], cell);
    EXPECT_EQ(line["input"], 4);
    expect_positive(line, {"fwd_ms", "fwd_best_ms", "fwdbwd_ms", "fwdbwd_best_ms", "fwdbwd_gflops"});
    EXPECT_LT(line["fwd_best_ms"].get<double>(), line["fwdbwd_ms"].get<double>());
  }
}

TEST(Bench, HelpStatesTheUnitOfMemory) {
  const TemporaryFolder folder;
  const ProgramResult result = run_program({"bench", "--help"}, folder.path());
  EXPECT_NE(result.out.find("peak_rss_mb in the output is the peak resident memory of the process in MiB."),
            std::string::npos)
      << result.out;
}

TEST_F(ShortBench, EmbedReportsSentencesAndTokens) {
  const TemporaryFolder folder;
  write_file(folder.path(), "lines", "Green.\n\nWater on new day?\nMaria sings.\n");
  const std::string model = golden("hf-more/st-mean").string();
  const Json line =
      line_of({"bench", "embed", model, (folder / "lines").string(), "--batch", "2", "-t", "1"});
  EXPECT_EQ(line["bench"], "embed");
  EXPECT_EQ(line["sentences"], 3);
  expect_positive(
      line, {"tokens", "ms", "best_ms", "processor_ms", "sentences_per_s", "tokens_per_s", "peak_rss_mb"});
  expect_positive(line_of({"bench", "start", model, "-t", "1"}), {"start_ms"});
}

// Without REGARD_BENCH_SECONDS, the encoding is timed for a second.
// Special tokens are not added. The checksum is Σ (id + 1)(index + 1), with the indices of all ids from 0.
// Loading takes longer than 10 µs, and less than the program without the second for which the encoding is
// timed.
TEST(Bench, TokenizeReportsIdsAndTimes) {
  const TemporaryFolder folder;
  constexpr int kTimes = 5000;  // an encoding of fewer tokens may take less time than the clock measures
  std::string lines = "ab\n\nba";
  for (int i = 1; i < kTimes; ++i) lines += "\nab\n\nba";
  write_file(folder.path(), "lines", lines);
  write_file(folder.path(), "tokenizer.json",
             R"({"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 4, "b": 9}, "merges": []},
                 "post_processor": {"type": "BertProcessing", "sep": ["a", 4], "cls": ["b", 9]}})");
  const Stopwatch watch;
  const Json line = line_of(
      {"bench", "tokenize", (folder / "tokenizer.json").string(), (folder / "lines").string(), "-t", "1"});
  const double ms = 1e3 * watch.seconds();
  EXPECT_EQ(line["bench"], "tokenize");
  EXPECT_EQ(line["bytes"], 7 * kTimes - 1);
  EXPECT_EQ(line["lines"], 3 * kTimes);
  EXPECT_EQ(line["tokens"], 4 * kTimes);
  std::uint64_t sum = 0;
  for (std::uint64_t place = 0; place < 4 * kTimes;)
    for (const std::uint64_t id : {4, 9, 9, 4}) sum += (id + 1) * ++place;
  EXPECT_EQ(std::stoull(line["ids_sum"].get<std::string>(), nullptr, 16), sum);
  expect_positive(line, {"ms", "best_ms", "mb_per_s", "cpu_mb_per_s", "first_cpu_mb_per_s", "tokens_per_s"});
  EXPECT_NEAR(line["mb_per_s"].get<double>() * line["ms"].get<double>() * 1e3 / (7 * kTimes - 1), 1, 1.6e-4);
  EXPECT_NEAR(line["tokens_per_s"].get<double>() * line["ms"].get<double>() / 1e3 / (4 * kTimes), 1, 2e-4);
  EXPECT_GT(line["load_ms"].get<double>(), 0.01);
  EXPECT_LT(line["load_ms"].get<double>(), ms - 1000);
}

TEST(MeasuringSeconds, AreTheVariablesIfItIsANumberAboveZero) {
  for (const auto& [text, seconds] : {std::pair("0.25", 0.25), {"0", 2.0}, {"x", 2.0}, {"inf", 2.0}}) {
    const Environment environment(Environment::Variables{{"REGARD_BENCH_SECONDS", text}});
    EXPECT_EQ(cli::measuring_seconds(2.0), seconds) << text;
  }
  const Environment environment(Environment::Variables{{"REGARD_BENCH_SECONDS", std::nullopt}});
  EXPECT_EQ(cli::measuring_seconds(2.0), 2.0);
}

// A config.json alone gives a model with random weights. The prompts of one step have at most 8192 tokens.
TEST_F(ShortBench, DecodeReportsPromptsAndTokens) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "config.json",
                        std::string_view(R"({"model_type": "regard-transformer", "kind": "decoder",
      "vocabulary": 50, "layers": 2, "hidden_size": 16, "heads": 2, "feed_forward_size": 32,
      "positions": "learned", "max_positions": 80})"));
  const auto call = [&](const char* beam, const std::string& batch, const std::string& prompt) {
    return std::vector<std::string>{"bench",   "decode", (folder / "config.json").string(),
                                    "--batch", batch,    "--prompt",
                                    prompt,    "--new",  "12",
                                    "--beam",  beam,     "-t",
                                    "1"};
  };
  for (const auto& [beam, batch, prompt] : {std::tuple("1", 128, 64), {"3", 2, 5}}) {
    const Json line = line_of(call(beam, std::to_string(batch), std::to_string(prompt)));
    EXPECT_EQ(line["bench"], "decode");
    EXPECT_EQ(line["beam"], std::stoi(beam));
    EXPECT_EQ(line["batch"], batch);
    EXPECT_EQ(line["prompt"], prompt);
    EXPECT_EQ(line["new"], 12);
    expect_positive(line, {"tokens_per_s", "prefill_tokens_per_s", "step_ms", "weights_gb_s", "peak_rss_mb"});
    EXPECT_NEAR(line["tokens_per_s"].get<double>() * line["step_ms"].get<double>() / batch, 1000.0, 0.5);
    EXPECT_NEAR(
        line["prefill_tokens_per_s"].get<double>() * line["prefill_ms"].get<double>() / (batch * prompt),
        1000.0, 0.5);
    // A step reads all weights but those of the 80 positions. A token has keys and values in two layers.
    const double weights = line["parameters"].get<double>() - 80 * 16;
    EXPECT_NEAR(line["weights_gb_s"].get<double>() * line["step_ms"].get<double>() * 1e6 / (4 * weights), 1,
                1e-3);
    EXPECT_EQ(line["cache_bytes_per_token"], 2 * 2 * 16 * 4);
  }
  const ProgramResult many = run_program(call("1", "129", "64"), folder.path());
  EXPECT_EQ(many.exit_code, 2);
  EXPECT_EQ(
      many.err,
      "regard: the prompts do not fit into one step of prefill (expected at most 8192 tokens in all, found "
      "129 prompts of 64 tokens). Choose a smaller --batch or --prompt\n");
}

TEST(Bench, TranscribeReportsEachPart) {
  const std::string model = golden("sound/whisper-small").string();
  for (const char* dtype : {"f32", "int8"}) {
    std::vector<std::string> call{"bench", "transcribe",    model, "--prompt", "3", "--new",
                                  "7",     "--repetitions", "2",   "-t",       "1"};
    if (dtype == std::string("int8")) call.insert(call.end(), {"--quantize", "int8"});
    const Json line = line_of(call);
    EXPECT_EQ(line["bench"], "transcribe");
    EXPECT_EQ(line["dtype"], dtype);
    EXPECT_EQ(line["seconds"], 2.0);
    EXPECT_EQ(line["new"], 7);
    expect_positive(line,
                    {"features_ms", "encoder_ms", "decoder_ms", "whole_ms", "whole_cpu_ms", "peak_rss_mb"});
    EXPECT_GT(line["whole_ms"].get<double>(), line["decoder_ms"].get<double>());
  }
  const ProgramResult many =
      run_program({"bench", "transcribe", model, "--new", "100", "-t", "1"}, ::testing::TempDir());
  EXPECT_EQ(many.exit_code, 2) << many.err;
  EXPECT_NE(many.err.find("--new"), std::string::npos) << many.err;
  const ProgramResult picture =
      run_program({"bench", "transcribe", golden("hf-tiny/vit").string(), "-t", "1"}, ::testing::TempDir());
  EXPECT_EQ(picture.exit_code, 2) << picture.err;
}

TEST_F(ShortBench, FeaturesForwardAndCtcReportTheirTimes) {
  const Json features = line_of({"bench", "features", "--seconds", "1", "--repetitions", "2", "-t", "1"});
  EXPECT_EQ(features["bench"], "features");
  EXPECT_EQ(features["bins"], 80);
  expect_positive(features, {"ms", "best_ms", "processor_ms", "peak_rss_mb"});
  const Json forward =
      line_of({"bench", "forward", golden("hf-tiny/vit").string(), "--batch", "2", "-t", "1"});
  EXPECT_EQ(forward["bench"], "forward");
  EXPECT_EQ(forward["batch"], 2);
  expect_positive(forward, {"ms", "best_ms", "processor_ms", "parameters", "peak_rss_mb"});
  const ProgramResult text =
      run_program({"bench", "forward", golden("hf-more/st-mean").string(), "-t", "1"}, ::testing::TempDir());
  EXPECT_EQ(text.exit_code, 2) << text.err;
  const Json ctc = line_of(
      {"bench", "ctc", "--batch", "2", "--frames", "9", "--labels", "2", "--targets", "3", "-t", "1"});
  EXPECT_EQ(ctc["bench"], "ctc");
  expect_positive(ctc, {"fwd_ms", "fwd_best_ms", "fwdbwd_ms", "fwdbwd_cpu_ms", "peak_rss_mb"});
}

TEST(Bench, StudyReportsCapturesAndASweep) {
  const TemporaryFolder folder;
  write_text_model(folder / "gpt", "gpt", 64);
  const ProgramResult result = run_program({"bench", "study", (folder / "gpt").string(), "--tokens", "40",
                                            "--sentences", "3", "--length", "6", "--rounds", "1", "-t", "1"},
                                           folder.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), 2u) << result.out;
  const Json capture = parse_json(lines[0], "stdout"), sweep = parse_json(lines[1], "stdout");
  EXPECT_EQ(capture["bench"], "capture");
  for (const char* key : {"one_head", "all_heads", "one_head_mib", "all_heads_mib"})
    EXPECT_TRUE(capture[key].is_number()) << key;
  expect_positive(sweep,
                  {"forward_processor_ms", "processor_ms", "sweep_processor_ms", "forward_passes", "passes"});
  EXPECT_EQ(sweep["heads"], 8);
  EXPECT_EQ(sweep["measured_heads"], 8);
  EXPECT_EQ(sweep["sentences"], 3);
  EXPECT_EQ(sweep["length"], 6);
  EXPECT_EQ(sweep["predictions"], 0);
  EXPECT_EQ(capture["tokens"], 40);
  // The time of a sweep of all heads is extrapolated from the measured heads.
  for (const auto& [heads, measured] : {std::pair("3", 3), {"9", 8}}) {
    const ProgramResult some =
        run_program({"bench", "study", "gpt", "--tokens", "4", "--sentences", "2", "--length", "64",
                     "--rounds", "1", "--heads", heads, "--predictions", "2", "-t", "1"},
                    folder.path());
    ASSERT_EQ(some.exit_code, 0) << some.err;
    const Json line = parse_json(lines_of(some.out).at(1), "stdout");
    EXPECT_EQ(line["measured_heads"], measured);
    EXPECT_EQ(line["predictions"], 2);
    EXPECT_NEAR(line["passes"].get<double>() * line["processor_ms"].get<double>() /
                    line["sweep_processor_ms"].get<double>(),
                1, 1e-3);
    EXPECT_NEAR(line["forward_passes"].get<double>() * line["forward_processor_ms"].get<double>() /
                    line["sweep_processor_ms"].get<double>(),
                1, 1e-3);
  }
  for (const char* option : {"--tokens", "--length"}) {
    const ProgramResult longer = run_program({"bench", "study", "gpt", option, "65"}, folder.path());
    EXPECT_EQ(longer.exit_code, 2);
    EXPECT_NE(longer.err.find("(expected at most 64 tokens, found "), std::string::npos) << longer.err;
  }
  write_text_model(folder / "translator", "translator");
  const ProgramResult other = run_program({"bench", "study", "translator"}, folder.path());
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_EQ(other.err,
            "regard: translator: bench study does not support this model (expected a decoder-only model)\n");
}

TEST(Bench, TrainReportsPrecisionAndSpeed) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 40; ++i) text += "one two three four five six . ";
  write_file_atomically(folder.path() / "train.txt", text);
  write_file_atomically(
      folder.path() / "run.toml",
      "task = \"language-model\"\n[data]\ntrain = [\"train.txt\"]\nvalid = [\"train.txt\"]\n"
      "[tokenizer]\ntype = \"char\"\n[model]\nhidden_size = 32\nlayers = 1\nheads = 2\n"
      "[training]\nbatch_size = 2\ncontext = 8\nmax_steps = 100\n"
      "[output]\nfolder = \"run\"\n");
  std::vector<std::string> precisions{"f32"};
  const SlowBf16 also_if_slow;
  if (!kernels::bf16_paths().empty()) precisions.emplace_back("bf16");
  for (const std::string& precision : precisions) {
    const double before = children_cpu_ms();
    const ProgramResult result = run_program({"bench", "train", "run.toml", "--steps", "2", "-t", "1",
                                              "--set", "training.precision=\"" + precision + "\""},
                                             folder.path());
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const Json line = parse_json(result.out, "stdout");
    EXPECT_EQ(line["dtype"], precision);
    EXPECT_EQ(line["steps"], 2);
    expect_positive(line, {"tokens_per_s", "step_ms", "processor_ms", "gflops"});
    EXPECT_LT(2 * line["processor_ms"].get<double>(), children_cpu_ms() - before) << "two steps";
    // A training step takes about 6 operations per parameter and token (Kaplan et al. 2020, section 2.1).
    const double operations = line["gflops"].get<double>() * 1e9 / line["tokens_per_s"].get<double>();
    EXPECT_NEAR(operations / line["parameters"].get<double>(), 6, 0.6);
  }
}

TEST(Bench, StartTakesEitherKindOfModel) {
  const TemporaryFolder folder;
  write_text_model(folder / "translator", "translator");
  write_text_model(folder / "gpt", "gpt", 200);
  for (const char* model : {"translator", "gpt"}) {
    const Json line = line_of({"bench", "start", (folder / model).string(), "--text", "the dog", "-t", "1"});
    EXPECT_EQ(line["bench"], "start");
    expect_positive(line, {"start_ms", "best_ms", "peak_rss_mb"});
  }
  EXPECT_EQ(run_program({"bench", "start", "no-such-folder"}, folder.path()).exit_code, 4);
}

TEST_F(ShortBench, PeakMeasuresOneThreadAndAllThreads) {
  const Json line = line_of({"bench", "peak", "-t", "1"});
  EXPECT_EQ(line["bench"], "peak");
  expect_positive(line, {"fma_gflops_one", "fma_gflops_all", "read_gb_s_one", "read_gb_per_processor_s",
                         "read_gb_s_all"});
}

TEST_F(ShortBench, ProductsWithHeldWeights) {
  for (const char* dtype : {"f16", "bf16", "int8"}) {
    const std::vector<std::string> call = {
        "bench", "gemm", "--m", "2", "--n", "5", "--k", "7", "-t", "1", "--transpose-b", "--dtype", dtype};
    std::vector<std::string> packed = call;
    packed.push_back("--packed");
    const Json line = line_of(packed);
    EXPECT_EQ(line["dtype"], dtype);
    expect_positive(line, {"ms", "gflops"});
    const ProgramResult loose = run_program(call, ::testing::TempDir());
    EXPECT_EQ(loose.exit_code, 2);
    EXPECT_NE(loose.err.find("--packed"), std::string::npos) << loose.err;
  }
}

TEST(Bench, WhatIsNotInTheBuildIsAWrongCall) {
  const ProgramResult int8 = run_program(
      {"bench", "attention", "--seq", "4", "--dim", "4", "--dtype", "int8"}, ::testing::TempDir());
  EXPECT_EQ(int8.exit_code, 2);
  EXPECT_NE(int8.err.find("not in {f32,bf16}"), std::string::npos) << int8.err;
  const ProgramResult heads =
      run_program({"bench", "attention", "--heads", "3", "--kv-heads", "2", "--seq", "4", "--dim", "4"},
                  ::testing::TempDir());
  EXPECT_EQ(heads.exit_code, 2);
}

TEST(Bench, MedianAndBest) {
  const cli::Timing odd = cli::summarise({3.0, 1.0, 2.0}), even = cli::summarise({4.0, 1.0, 2.0, 3.0});
  EXPECT_DOUBLE_EQ(odd.median_ms, 2000.0);
  EXPECT_DOUBLE_EQ(odd.best_ms, 1000.0);
  EXPECT_DOUBLE_EQ(even.median_ms, 2500.0);
}

}  // namespace
}  // namespace regard::testing
