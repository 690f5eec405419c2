// Transcription by wav2vec 2.0 with a CTC head: decoding compared with the sum over all paths, and the texts,
// times and errors of a folder.
#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "base/json.h"
#include "ops/plain/ctc_loss.h"
#include "support/resident.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "support/wav.h"
#include "tasks/transcribe.h"

namespace regard::testing {
namespace {

using tasks::TranscriptSegment;

Tensor random_logits(std::int64_t frames, std::int64_t labels, std::uint64_t seed) {
  Tensor logits = Tensor::empty({frames, labels});
  for (std::int64_t i = 0; i < logits.elements(); ++i)
    logits.f32()[i] =
        static_cast<float>(2.0 * std::sin(static_cast<double>((i + 1) * (seed + 3) * 7919 % 1000)));
  return logits;
}

std::vector<std::int32_t> labels_of(const std::vector<tasks::CtcLabel>& path) {
  std::vector<std::int32_t> all;
  for (const tasks::CtcLabel& label : path) all.push_back(label.label);
  return all;
}

TEST(CtcSearch, AWideBeamFindsTheMostProbableLabels) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    constexpr std::int64_t kFrames = 5, kLabels = 3;
    Tensor logits = random_logits(kFrames, kLabels, seed);
    std::vector<double> numbers(logits.f32(), logits.f32() + logits.elements());
    // Score every sequence of up to five labels by the sum over all its paths.
    double best = 1e9;
    std::vector<std::int32_t> best_labels;
    for (int code = 0; code < 3 * 3 * 3 * 3 * 3; ++code) {
      std::vector<std::int32_t> labels;
      for (int rest = code; rest > 0; rest /= 3)
        if (rest % 3 > 0) labels.push_back(rest % 3);
      const double loss = plain::ctc_loss<double>(kFrames, kLabels, numbers.data(), labels, 0);
      if (loss < best - 1e-12) best = loss, best_labels = labels;
    }
    tasks::to_log_probabilities(logits);
    const tasks::CtcHypothesis found = tasks::ctc_beam_search(logits, 0, 200);
    EXPECT_EQ(labels_of(found.labels), best_labels) << seed;
    EXPECT_NEAR(-found.log_probability, best, 1e-5) << seed;
  }
}

// Most prefixes leave the beam after one frame. This search considers about four million prefixes.
TEST(CtcSearch, KeepsNoMemoryForPrefixesOutsideTheBeam) {
  Tensor logits = random_logits(320, 100, 4);
  tasks::to_log_probabilities(logits);
  const double before = resident_mib("VmHWM");
  const tasks::CtcHypothesis found = tasks::ctc_beam_search(logits, 0, 128);
  EXPECT_TRUE(std::isfinite(found.log_probability));
  EXPECT_LT(resident_mib("VmHWM") - before, 64);
}

TEST(CtcSearch, BestPathMergesRepetitionsAndKeepsFrames) {
  const std::int32_t path[] = {0, 2, 2, 0, 2, 1, 1, 0};
  Tensor logits = Tensor::zeros({8, 3});
  for (std::int64_t t = 0; t < 8; ++t) logits.row(t)[path[t]] = 1.0f;
  const std::vector<tasks::CtcLabel> labels = tasks::ctc_best_path(logits, 0);
  EXPECT_EQ(labels_of(labels), (std::vector<std::int32_t>{2, 2, 1}));
  EXPECT_EQ(labels[0].first, 1);
  EXPECT_EQ(labels[0].last, 2);
  EXPECT_EQ(labels[2].first, 5);
  EXPECT_EQ(labels[2].last, 6);
}

class CtcFolder : public ::testing::Test {
 protected:
  CtcFolder() {
    copy_model("wav2vec2-stable");
    write_file_atomically(
        folder_ / "vocab.json",
        R"({"<pad>":0,"<s>":1,"</s>":2,"|":3,"A":4,"B":5,"C":6,"D":7,"E":8,"F":9,"G":10,"H":11})");
    write_file_atomically(folder_ / "tokenizer_config.json", R"({"pad_token":"<pad>","do_lower_case":true})");
    write_sound(48000);
  }

  void write_sound(int length) {
    std::vector<std::int16_t> samples;
    for (int i = 0; i < length; ++i)
      samples.push_back(static_cast<std::int16_t>(8000.0 * std::sin(0.05 * i * (1.0 + i / 48000.0))));
    write_file_atomically(folder_ / "sound.wav", testing::wav_file(samples));
    seconds_ = length / 16000.0;
  }

  void copy_model(const std::string& name) {
    const auto from = testing::golden("hf-tiny/" + name);
    for (const char* file : {"config.json", "model.safetensors", "preprocessor_config.json"})
      std::filesystem::copy(from / file, folder_ / file, std::filesystem::copy_options::overwrite_existing);
  }

  std::vector<TranscriptSegment> transcribe(const tasks::TranscribeOptions& options) {
    const auto loaded = infer::LoadedModel::open(folder_.path(), {.reads = InputKind::features});
    ThreadPool pool(2);
    tasks::Transcriber transcriber(loaded, pool, options);
    std::vector<TranscriptSegment> segments;
    tasks::TranscribeListener listener;
    listener.segment = [&](const TranscriptSegment& segment) { segments.push_back(segment); };
    EXPECT_NEAR(transcriber.transcribe(folder_ / "sound.wav", listener).duration, seconds_, 1e-9);
    return segments;
  }
  testing::TemporaryFolder folder_;
  double seconds_ = 0.0;  // duration of sound.wav
};

TEST_F(CtcFolder, TheProbeChangesThePasses) {
  struct : Probe {
    bool wants(std::string_view) override { return false; }
    void see(std::string_view, std::int64_t, const Tensor&) override {}
    float head_scale(std::string_view, std::int64_t) override { return 0.0f; }
  } no_heads;
  tasks::TranscribeOptions options;
  options.ctc.probe = &no_heads;
  EXPECT_NE(transcribe(options).at(0).log_probability, transcribe({}).at(0).log_probability);
}

TEST_F(CtcFolder, GreedyAndBeamGiveLowerCaseTextWithTimes) {
  for (const std::int64_t beam : {1, 8}) {
    tasks::TranscribeOptions options;
    options.ctc.beam = beam, options.ctc.word_times = true;
    const std::vector<TranscriptSegment> segments = transcribe(options);
    ASSERT_FALSE(segments.empty());
    double before = 0.0;
    for (const TranscriptSegment& segment : segments) {
      EXPECT_EQ(segment.text.find_first_not_of("abcdefgh "), std::string::npos) << segment.text;
      EXPECT_LE(before, segment.start);
      EXPECT_LT(segment.start, segment.end);
      EXPECT_LE(segment.end, 3.0);
      std::string text;
      double last = segment.start;
      ASSERT_FALSE(segment.words.empty());
      for (const tasks::TranscriptWord& word : segment.words) {
        text += (text.empty() ? "" : " ") + word.text;
        // With beam search, a label may begin in the last frame of the label before it.
        EXPECT_TRUE(beam > 1 || last <= word.start) << last << " " << word.start;
        EXPECT_LT(word.start, word.end);
        last = word.end;
      }
      EXPECT_EQ(text, segment.text);
      EXPECT_LE(segment.start, segment.words.front().start);
      EXPECT_LE(segment.words.back().end, segment.end);
      before = segment.start;
    }
  }
}

// Letters are converted to lower case as by Python's str.lower(), which transformers applies to the text.
TEST_F(CtcFolder, EveryLetterIsLowerCased) {
  const std::string plain = transcribe({}).at(0).text;
  write_file_atomically(
      folder_ / "vocab.json",
      R"({"<pad>":0,"<s>":1,"</s>":2,"|":3,"Ä":4,"É":5,"Ñ":6,"Ø":7,"Ж":8,"Ω":9,"Ğ":10,"Ç":11})");
  std::string expected;
  for (const char letter : plain)
    expected += letter == ' ' ? " "
                              : std::vector<const char*>{"ä", "é", "ñ", "ø", "ж", "ω", "ğ", "ç"}.at(
                                    static_cast<std::size_t>(letter - 'a'));
  EXPECT_FALSE(plain.empty());
  EXPECT_EQ(transcribe({}).at(0).text, expected);
}

// Overlapping pieces give about as many labels as the whole sound, and the same end. Their labels can differ,
// because each piece is normalised separately.
TEST_F(CtcFolder, PiecesCoverTheSoundOnce) {
  tasks::TranscribeOptions whole, pieces;
  whole.ctc.segment_seconds = pieces.ctc.segment_seconds = whole.ctc.pause_seconds =
      pieces.ctc.pause_seconds = 100.0;
  pieces.ctc.piece_seconds = 0.5, pieces.ctc.overlap_seconds = 0.25;
  const auto a = transcribe(whole), b = transcribe(pieces);
  ASSERT_EQ(a.size(), 1u);
  ASSERT_EQ(b.size(), 1u);
  EXPECT_NEAR(static_cast<double>(a[0].tokens.size()), static_cast<double>(b[0].tokens.size()),
              0.3 * static_cast<double>(a[0].tokens.size()));
  EXPECT_NEAR(a[0].end, b[0].end, 0.1);
}

// With two convolutions of stride 2 after the encoder, a frame lasts 40 samples instead of 10. All times of
// words must be multiples of 40 samples. The segment must begin and end where the sound does. Both must hold
// if the sound is processed as a whole, and if it is processed in pieces.
TEST_F(CtcFolder, TimesFollowTheConvolutionsAfterTheEncoder) {
  constexpr double kFrame = 40.0 / 16000.0;
  copy_model("wav2vec2-downsampled-mask");
  tasks::TranscribeOptions options;
  options.ctc.word_times = true, options.ctc.segment_seconds = options.ctc.pause_seconds = 100.0;
  const auto whole = transcribe(options);
  options.ctc.piece_seconds = 0.5, options.ctc.overlap_seconds = 0.25;
  const auto pieces = transcribe(options);
  for (const auto& segments : {whole, pieces}) {
    ASSERT_EQ(segments.size(), 1u);
    EXPECT_LT(segments[0].start, 0.1);
    EXPECT_GT(segments[0].end, 2.9);
    EXPECT_LE(segments[0].end, 3.0);
    ASSERT_FALSE(segments[0].words.empty());
    for (const tasks::TranscriptWord& word : segments[0].words)
      for (const double time : {word.start / kFrame, word.end / kFrame})
        EXPECT_NEAR(time, std::round(time), 1e-6);
  }
  EXPECT_NEAR(static_cast<double>(whole[0].tokens.size()), static_cast<double>(pieces[0].tokens.size()),
              0.3 * static_cast<double>(whole[0].tokens.size()));
  // The last frame of these sounds begins inside the sound and ends after it.
  for (int length = 1490; length < 1520; length += 10) {
    write_sound(length);
    const auto last = transcribe({});
    ASSERT_EQ(last.size(), 1u);
    EXPECT_LE(last[0].end, seconds_);
  }
}

// The words of segments that end at spaces or pauses are those of one long segment.
TEST_F(CtcFolder, SegmentsEndBetweenWords) {
  constexpr double kFrame = 10.0 / 16000.0;  // the model has one frame for 10 samples
  tasks::TranscribeOptions options;
  options.ctc.word_times = true, options.ctc.pause_seconds = options.ctc.segment_seconds = 100.0;
  const std::vector<TranscriptSegment> one = transcribe(options);
  ASSERT_EQ(one.size(), 1u);
  const std::vector<tasks::TranscriptWord>& words = one[0].words;
  ASSERT_GT(words.size(), 100u);
  const auto expect_words = [&](const std::vector<TranscriptSegment>& segments) {
    std::size_t next = 0;
    for (const TranscriptSegment& segment : segments) {
      EXPECT_EQ(segment.start, segment.words.front().start);
      EXPECT_EQ(segment.end, segment.words.back().end);
      for (const tasks::TranscriptWord& word : segment.words) {
        ASSERT_LT(next, words.size());
        EXPECT_EQ(word.text, words[next].text);
        EXPECT_NEAR(word.start, words[next].start, 1e-9);
        EXPECT_NEAR(word.end, words[next++].end, 1e-9);
      }
    }
    EXPECT_EQ(next, words.size());
  };
  // A segment ends at the first space at or after segment_seconds.
  options.ctc.segment_seconds = 0.1;
  const std::vector<TranscriptSegment> segments = transcribe(options);
  expect_words(segments);
  EXPECT_GT(segments.size(), 20u);
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    const double begin = i == 0 ? 0.0 : segments[i - 1].end + kFrame;
    EXPECT_GT(segments[i].end + kFrame - begin, 0.1 - 1e-9);
    EXPECT_LT(segments[i].words.back().start - begin, 0.1 + 1e-9);
  }
  options.ctc.segment_seconds = std::round(words[0].end / kFrame + 1.0) * kFrame;  // with the space
  EXPECT_EQ(transcribe(options).at(0).text, words[0].text);
  options.ctc.segment_seconds += kFrame;
  EXPECT_EQ(transcribe(options).at(0).text, words[0].text + " " + words[1].text);
}

TEST_F(CtcFolder, SegmentsEndAtPauses) {
  constexpr double kFrame = 10.0 / 16000.0;
  tasks::TranscribeOptions options;
  options.ctc.word_times = true, options.ctc.segment_seconds = 100.0;
  options.ctc.pause_seconds = 2 * kFrame;
  const std::vector<TranscriptSegment> segments = transcribe(options);
  EXPECT_GT(segments.size(), 3u);
  std::size_t longest = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (i > 0) {
      EXPECT_GT(segments[i].start - segments[i - 1].end, 1.5 * kFrame) << i;
    }
    const std::vector<tasks::TranscriptWord>& words = segments[i].words;
    longest = std::max(longest, words.size());
    for (std::size_t w = 1; w < words.size(); ++w)
      EXPECT_LT(words[w].start - words[w - 1].end, 1.5 * kFrame) << i << " " << w;
  }
  EXPECT_GT(longest, 1u);
}

TEST_F(CtcFolder, TheBeamHasLimits) {
  tasks::TranscribeOptions options;
  for (const std::int64_t beam : {0, 1025}) {
    options.ctc.beam = beam;
    EXPECT_REGARD_ERROR(
        transcribe(options), ErrorKind::usage,
        "the beam width is out of range (expected 1 to 1024, found " + std::to_string(beam) + ")");
  }
}

// Without spaces and pauses, segments still end, so that memory does not grow with the sound.
TEST_F(CtcFolder, SegmentsWithoutSpacesEnd) {
  write_file_atomically(folder_ / "vocab.json",
                        R"({"<pad>":0,"<s>":1,"</s>":2,"A":4,"B":5,"C":6,"D":7,"E":8,"F":9,"G":10,"H":11})");
  tasks::TranscribeOptions options;
  options.ctc.segment_seconds = 0.2, options.ctc.pause_seconds = 100.0;
  const std::vector<TranscriptSegment> segments = transcribe(options);
  EXPECT_GE(segments.size(), 5u);
  for (const TranscriptSegment& segment : segments) EXPECT_LE(segment.end - segment.start, 0.61);
}

// A transcript in the language of the sound is not a translation.
TEST_F(CtcFolder, OptionsThatOnlyWhisperHasAreErrors) {
  tasks::TranscribeOptions translates, prompted;
  translates.whisper.translates = true, prompted.whisper.prompt = "A name";
  EXPECT_REGARD_ERROR(transcribe(translates), ErrorKind::usage, "this model cannot translate");
  EXPECT_REGARD_ERROR(transcribe(prompted), ErrorKind::usage, "this model does not support prompts");
}

TEST_F(CtcFolder, DamagedVocabulariesAreErrors) {
  const auto expect = [&](const char* text, const char* what) {
    write_file_atomically(folder_ / "vocab.json", text);
    EXPECT_REGARD_ERROR(transcribe({}), ErrorKind::bad_file, what);
  };
  expect("[]", "vocab.json: the content is not a JSON object");
  expect(R"({"A": 12})", "the id of a label is out of range");
  expect(R"({"A": "B"})", "A");
  write_file_atomically(folder_ / "tokenizer_config.json", "[]");
  expect("{}", "tokenizer_config.json: the content is not a JSON object");
}

}  // namespace
}  // namespace regard::testing
