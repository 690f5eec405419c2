// Transcription by Whisper: windows, tokens and times compared with transformers.
#include "tasks/transcribe.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "ops/parameter.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using tasks::Transcript;
using tasks::TranscriptSegment;

class WhisperCase : public ::testing::Test {
 protected:
  WhisperCase()
      : path_(testing::golden("sound/whisper-small")),
        golden_(read_json((path_ / "transcripts.json").string())),
        loaded_(infer::LoadedModel::open(path_, {.reads = InputKind::features})) {}

  // Return the options of a golden case, with temperature 0 only.
  static tasks::TranscribeOptions options_of(const Json& arguments) {
    tasks::TranscribeOptions options;
    tasks::WhisperOptions& whisper = options.whisper;
    whisper.temperatures = {0.0};
    whisper.language = arguments.value("language", "");
    whisper.translates = arguments.value("task", "") == "translate";
    whisper.timestamps = arguments.value("return_timestamps", false);
    whisper.uses_previous = arguments.value("condition_on_prev_tokens", false);
    if (arguments.contains("prompt_ids")) whisper.prompt = "the river bank";
    whisper.compression_ratio.reset(), whisper.log_probability.reset(), whisper.no_speech.reset();
    if (arguments.contains("no_speech_threshold")) {
      whisper.no_speech = arguments["no_speech_threshold"].get<double>();
      whisper.log_probability = arguments["logprob_threshold"].get<double>();
    }
    return options;
  }

  Transcript transcribe(const std::string& file, const tasks::TranscribeOptions& options, int threads = 2) {
    ThreadPool pool(threads);
    tasks::Transcriber transcriber(loaded_, pool, options);
    std::vector<TranscriptSegment> segments;
    tasks::TranscribeListener listener;
    listener.segment = [&](const TranscriptSegment& segment) { segments.push_back(segment); };
    Transcript transcript = transcriber.transcribe(path_ / file, listener);
    transcript.segments = std::move(segments);
    return transcript;
  }

  std::filesystem::path path_;
  Json golden_;
  infer::LoadedModel loaded_;
};

TEST_F(WhisperCase, SegmentsAreThoseOfTransformers) {
  std::size_t compared = 0;
  for (const auto& [name, one] : golden_.items()) {
    if (!one.contains("segments")) continue;
    SCOPED_TRACE(name);
    const Transcript found = transcribe(one["file"], options_of(one["arguments"]));
    EXPECT_EQ(found.language, one["arguments"].value("found", one["arguments"].value("language", "")));
    // Segments without a text are not reported.
    std::vector<Json> expected;
    for (const Json& segment : one["segments"]) {
      const auto tokens = segment["tokens"].get<std::vector<std::int32_t>>();
      std::vector<std::int32_t> words;
      const std::int32_t first_time = loaded_.target->id_of("<|0.00|>").value();
      for (const std::int32_t token : tokens)
        if (token < first_time) words.push_back(token);
      const std::string text = loaded_.target->decode(words);
      if (text.find_first_not_of(" \t\r\n") != text.npos) expected.push_back(segment);
    }
    ASSERT_EQ(found.segments.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(found.segments[i].tokens, expected[i]["tokens"].get<std::vector<std::int32_t>>()) << i;
      EXPECT_NEAR(found.segments[i].start, expected[i]["start"].get<double>(), 1e-6) << i;
      EXPECT_NEAR(found.segments[i].end, expected[i]["end"].get<double>(), 1e-6) << i;
      ++compared;
    }
  }
  EXPECT_GT(compared, 30u);
}

TEST_F(WhisperCase, WordsAndTheirTimesAreThoseOfTransformers) {
  std::size_t compared = 0;
  for (const auto& [name, one] : golden_.items()) {
    if (!one.contains("segments")) continue;
    SCOPED_TRACE(name);
    tasks::TranscribeOptions options = options_of(one["arguments"]);
    options.whisper.word_times = true;
    std::vector<tasks::TranscriptWord> found;
    for (const TranscriptSegment& segment : transcribe(one["file"], options).segments)
      found.insert(found.end(), segment.words.begin(), segment.words.end());
    std::vector<Json> expected;
    for (const Json& segment : one["segments"])
      for (const Json& word : segment["words"]) expected.push_back(word);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(found[i].text, expected[i][0].get<std::string>()) << i;
      EXPECT_NEAR(found[i].start, expected[i][1].get<double>(), 1e-6) << i;
      EXPECT_NEAR(found[i].end, expected[i][2].get<double>(), 1e-6) << i;
      ++compared;
    }
  }
  EXPECT_GT(compared, 70u);
}

TEST_F(WhisperCase, WrongAlignmentHeadsAreErrors) {
  formats::ModelFolder folder = loaded_.folder;
  for (const char* heads : {"[[0, 4]]", "[[2, 0]]", "[[0]]", "[[-1, 0]]"}) {
    (*folder.generation_config)["alignment_heads"] = parse_json(heads, "heads");
    EXPECT_REGARD_ERROR(tasks::AlignmentHeads::read(folder), ErrorKind::bad_file, "alignment_heads");
  }
  // Without the key alignment_heads, all heads of the upper half of the layers are used.
  folder.generation_config->erase("alignment_heads");
  EXPECT_EQ(tasks::AlignmentHeads::read(folder).heads.size(), 4u);
  folder.config["median_filter_width"] = 4;
  EXPECT_REGARD_ERROR(tasks::AlignmentHeads::read(folder), ErrorKind::bad_file, "median_filter_width");
}

TEST_F(WhisperCase, HigherTemperaturesFollowImprobableText) {
  tasks::TranscribeOptions options = options_of(golden_["long"]["arguments"]);
  options.whisper.temperatures = {0.0, 0.3, 0.7};
  // log-probabilities are below 0, so each window is decoded again with the next temperature
  options.whisper.log_probability = 0.0;
  const Transcript last = transcribe("long.wav", options);
  ASSERT_FALSE(last.segments.empty());
  for (const TranscriptSegment& segment : last.segments) EXPECT_EQ(segment.temperature, 0.7);
  options.whisper.log_probability = -100.0;
  for (const TranscriptSegment& segment : transcribe("long.wav", options).segments)
    EXPECT_EQ(segment.temperature, 0.0);
  options.whisper.log_probability.reset();
  options.whisper.compression_ratio = 0.01;  // every text exceeds this ratio, so each window is decoded again
  for (const TranscriptSegment& segment : transcribe("long.wav", options).segments)
    EXPECT_EQ(segment.temperature, 0.7);
}

// Equal rows of the embedding give equal logits.
TEST_F(WhisperCase, OfEquallyProbableLanguagesTheFirstIdIsFound) {
  loaded_ =
      infer::LoadedModel::open(path_, {.weight_mode = WeightMode::widened, .reads = InputKind::features});
  const std::int32_t english = loaded_.target->id_of("<|en|>").value();
  std::size_t changed = 0;
  for (Parameter* parameter : loaded_.model->parameters()) {
    if (parameter->value().rows() != loaded_.model->vocabulary()) continue;
    ++changed;
    parameter->set_trainable(true);  // copy the values of the file
    for (const char* other : {"<|de|>", "<|fr|>"})
      std::copy_n(parameter->value().row(english), parameter->value().columns(),
                  parameter->value().row(loaded_.target->id_of(other).value()));
    parameter->set_trainable(false);
  }
  ASSERT_GT(changed, 0u);
  EXPECT_EQ(transcribe("short.wav", {}).language, "en") << "its id is the lowest, but its name is not";
}

// The attempt at index i of the temperatures uses the seed + i.
TEST_F(WhisperCase, EachAttemptHasItsOwnSeed) {
  tasks::TranscribeOptions twice = options_of(golden_["long"]["arguments"]), once = twice;
  twice.whisper.temperatures = {0.8, 0.8};
  twice.whisper.log_probability = 0.0;  // log-probabilities are below 0, so the second attempt is used
  twice.whisper.seed = 4;
  once.whisper.temperatures = {0.8};
  once.whisper.seed = 5;
  const Transcript second = transcribe("long.wav", twice), only = transcribe("long.wav", once);
  ASSERT_FALSE(only.segments.empty());
  ASSERT_EQ(second.segments.size(), only.segments.size());
  for (std::size_t i = 0; i < only.segments.size(); ++i) {
    EXPECT_EQ(second.segments[i].tokens, only.segments[i].tokens) << i;
    EXPECT_EQ(second.segments[i].log_probability, only.segments[i].log_probability) << i;
  }
}

// A text that was sampled at a temperature of 0.5 or more is not the start of the next window's prompt.
TEST_F(WhisperCase, OnlyTextOfALowTemperatureIsContinued) {
  tasks::TranscribeOptions options = options_of(golden_["long"]["arguments"]);
  options.whisper.timestamps = true;
  const auto scores = [&](double temperature, bool uses_previous) {
    options.whisper.temperatures = {temperature};
    options.whisper.uses_previous = uses_previous;
    std::vector<double> all;
    for (const TranscriptSegment& segment : transcribe("long.wav", options).segments)
      all.push_back(segment.log_probability);
    return all;
  };
  const std::vector<double> sampled = scores(0.5, false);
  ASSERT_FALSE(sampled.empty());
  EXPECT_EQ(scores(0.5, true), sampled);
  EXPECT_NE(scores(0.49, true), scores(0.49, false));
}

TEST_F(WhisperCase, SampledTextHasTheSameBitsForAnyNumberOfThreads) {
  tasks::TranscribeOptions options = options_of(golden_["long"]["arguments"]);
  options.whisper.temperatures = {0.8};
  const Transcript one = transcribe("long.wav", options, 1), three = transcribe("long.wav", options, 3);
  ASSERT_EQ(one.segments.size(), three.segments.size());
  for (std::size_t i = 0; i < one.segments.size(); ++i) {
    EXPECT_EQ(one.segments[i].tokens, three.segments[i].tokens);
    EXPECT_EQ(one.segments[i].log_probability, three.segments[i].log_probability);
  }
  options.whisper.seed = 2;
  bool differs = false;
  const Transcript other = transcribe("long.wav", options);
  for (std::size_t i = 0; i < std::min(one.segments.size(), other.segments.size()); ++i)
    differs = differs || one.segments[i].tokens != other.segments[i].tokens;
  EXPECT_TRUE(differs);
}

TEST_F(WhisperCase, CompressionRatioIsThatOfZlib) {
  const std::string text = golden_["compression"]["text"];
  const double ratio = tasks::compression_ratio_of(text);
  if (ratio == 0.0) GTEST_SKIP() << "built without zlib";
  EXPECT_NEAR(ratio, golden_["compression"]["ratio"].get<double>(), 1e-12);
}

TEST_F(WhisperCase, WrongOptionsAreErrors) {
  const auto expect = [&](auto&& change, const char* what) {
    tasks::TranscribeOptions options;
    change(options.whisper);
    EXPECT_REGARD_ERROR(transcribe("short.wav", options), ErrorKind::usage, what);
  };
  expect([](tasks::WhisperOptions& o) { o.language = "xx"; }, "expected one of de, en, fr");
  expect([](tasks::WhisperOptions& o) { o.temperatures = {-1.0}; }, "temperature");
  expect([](tasks::WhisperOptions& o) { o.temperatures.clear(); }, "temperature");
  ThreadPool pool(1);
  infer::LoadedModel bart;
  bart.folder = formats::ModelFolder::open(testing::golden("hf-tiny/bart"));
  bart.model = load_model(bart.folder);
  EXPECT_REGARD_ERROR(tasks::Transcriber(bart, pool, {}), ErrorKind::usage, "cannot transcribe");
}

TEST(TranscriptFormats, OfASegment) {
  const TranscriptSegment segment{3661.5, 3662.25, "so --> it <goes> & on", {1, 2}, 0.0, -0.5, 1.5, 0.25};
  const auto whole = [&](const char* format) {
    tasks::TranscriptWriter writer(*tasks::transcript_format_of(format), "a.wav");
    std::string all = writer.begin() + writer.segment(segment);
    return all + writer.end({"en", 4000.0, {}});
  };
  EXPECT_EQ(whole("text"), "so --> it <goes> & on\n");
  EXPECT_EQ(whole("srt"), "1\n01:01:01,500 --> 01:01:02,250\nso -> it <goes> & on\n\n");
  EXPECT_EQ(whole("vtt"), "WEBVTT\n\n01:01:01.500 --> 01:01:02.250\nso -&gt; it &lt;goes&gt; &amp; on\n\n");
  EXPECT_EQ(whole("tsv"), "start\tend\ttext\n3661500\t3662250\tso --> it <goes> & on\n");
  const Json json = parse_json(whole("json"), "transcript");
  EXPECT_EQ(json["text"], "so --> it <goes> & on");
  EXPECT_EQ(json["language"], "en");
  EXPECT_EQ(json["segments"][0]["end"], 3662.25);
  EXPECT_FALSE(tasks::transcript_format_of("doc").has_value());
}

// A program may format a transcript of its own, whose texts need not be UTF-8.
TEST(TranscriptFormats, JsonIsUtf8) {
  TranscriptSegment segment{0.0, 1.0, "caf\xE9", {}};
  segment.words = {{0.0, 1.0, "caf\xE9"}};
  tasks::TranscriptWriter writer(tasks::TranscriptFormat::json, "caf\xE9.wav");
  std::string all = writer.begin() + writer.segment(segment);
  const Json json = parse_json(all + writer.end({}), "transcript");
  EXPECT_EQ(json["file"], "caf\uFFFD.wav");
  EXPECT_EQ(json["segments"][0]["text"], "caf\uFFFD");
  EXPECT_EQ(json["segments"][0]["words"][0]["word"], "caf\uFFFD");
}

// Removing a dash must not create a new separator of times.
TEST(TranscriptFormats, SubtitlesContainNoArrowOfTimes) {
  for (const auto& [text, expected] :
       {std::pair{"a ---> b", "a -> b"}, {"-----> -->", "-> ->"}, {"--", "--"}}) {
    tasks::TranscriptWriter writer(tasks::TranscriptFormat::srt, "a.wav");
    const std::string cue = writer.segment({0.0, 1.0, text, {}});
    EXPECT_EQ(cue, "1\n00:00:00,000 --> 00:00:01,000\n" + std::string(expected) + "\n\n");
  }
}

TEST(TranscriptFormats, OfASegmentWithWords) {
  TranscriptSegment segment{1.0, 2.0, "so <b> it", {1, 2}, 0.0, -0.5, 1.5, 0.25};
  segment.words = {{1.0, 1.25, " so"}, {1.25, 1.5, " <b>"}, {1.5, 2.0, " it"}};
  const auto whole = [&](const char* format) {
    tasks::TranscriptWriter writer(*tasks::transcript_format_of(format), "a.wav");
    std::string all = writer.begin() + writer.segment(segment);
    return all + writer.end({"en", 4000.0, {}});
  };
  EXPECT_EQ(whole("text"), "so <b> it\n");
  EXPECT_EQ(whole("srt"),
            "1\n00:00:01,000 --> 00:00:01,250\nso\n\n2\n00:00:01,250 --> 00:00:01,500\n<b>\n\n"
            "3\n00:00:01,500 --> 00:00:02,000\nit\n\n");
  EXPECT_EQ(whole("vtt"), "WEBVTT\n\n00:01.000 --> 00:02.000\nso<00:01.250> &lt;b&gt;<00:01.500> it\n\n");
  EXPECT_EQ(whole("tsv"), "start\tend\ttext\n1000\t1250\tso\n1250\t1500\t<b>\n1500\t2000\tit\n");
  const Json words = parse_json(whole("json"), "transcript")["segments"][0]["words"];
  ASSERT_EQ(words.size(), 3u);
  EXPECT_EQ(words[1], (Json{{"word", " <b>"}, {"start", 1.25}, {"end", 1.5}}));
}

// For these costs, the cheapest monotonic path is known.
TEST(AttentionAlignment, TimeWarpingFindsTheCheapestPath) {
  const std::vector<double> cost{5, 1, 9, 9,  //
                                 9, 9, 2, 9,  //
                                 9, 9, 9, 3};
  EXPECT_EQ(tasks::warp_time(cost, 3, 4), (std::vector<std::int64_t>{0, 2, 3}));
  EXPECT_EQ(tasks::warp_time(std::vector<double>(3, 0.0), 3, 1), (std::vector<std::int64_t>{0, 0, 0}));
  EXPECT_EQ(tasks::warp_time(std::vector<double>(3, 0.0), 1, 3), (std::vector<std::int64_t>{0}));
}

TEST(AttentionAlignment, MedianIsMirroredAtTheEnds) {
  std::vector<float> values{9, 1, 2, 8, 3};
  tasks::median_filter(values, 3);
  EXPECT_EQ(values, (std::vector<float>{1, 2, 2, 3, 8}));
  std::vector<float> few{3, 1};
  tasks::median_filter(few, 5);
  EXPECT_EQ(few, (std::vector<float>{3, 1}));
}

}  // namespace
}  // namespace regard::testing
