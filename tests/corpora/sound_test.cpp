// Reading WAV files of every kind, damaged files and other formats; resampling; features compared with
// transformers' feature extractors.
#include "data/sound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>

#include "base/file.h"
#include "data/fft.h"
#include "data/frame_store.h"
#include "data/sound_processor.h"
#include "kernels/isa_fixture.h"
#include "support/golden.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "support/wav.h"

namespace regard::testing {
namespace {

using data::SoundProcessor;

class Sound : public ::testing::Test {
 protected:
  std::vector<float> read(const std::string& bytes, std::int64_t rate = 16000) {
    write_file_atomically(folder_ / "sound", bytes);
    return data::read_sound(folder_ / "sound", rate, 100.0);
  }
  testing::TemporaryFolder folder_;
};

TEST_F(Sound, EveryEncodingOfWav) {
  const std::vector<float> half{0.5f, -0.25f};
  EXPECT_EQ(read(WavFile{.bits = 8, .data = {'\xC0', '\x60'}}.text()), half);
  EXPECT_EQ(read(WavFile{.data = little(0x4000, 2) + little(0xE000, 2)}.text()), half);
  EXPECT_EQ(read(WavFile{.bits = 24, .data = little(0x400000, 3) + little(0xE00000, 3)}.text()), half);
  EXPECT_EQ(read(WavFile{.bits = 32, .data = little(0x40000000, 4) + little(0xE0000000, 4)}.text()), half);
  EXPECT_EQ(read(WavFile{.tag = 3, .bits = 32, .data = little(0x3F000000, 4) + little(0xBE800000, 4)}.text()),
            half);
  EXPECT_EQ(read(WavFile{
                .tag = 3, .bits = 64, .data = little(0x3FE0000000000000, 8) + little(0xBFD0000000000000, 8)}
                     .text()),
            half);
  EXPECT_EQ(read(WavFile{.tag = 0xFFFE, .data = little(0x4000, 2) + little(0xE000, 2)}.text()), half);
  // Small and large values of G.711: A-law (tag 6) and µ-law (tag 7).
  EXPECT_EQ(read(WavFile{.tag = 6, .bits = 8, .data = "\xD5\x55\xAA\x2A"}.text()),
            (std::vector<float>{8 / 32768.0f, -8 / 32768.0f, 32256 / 32768.0f, -32256 / 32768.0f}));
  EXPECT_EQ(read(WavFile{.tag = 7, .bits = 8, .data = "\xFF\xFE\x80\x01"}.text()),
            (std::vector<float>{0.0f, 8 / 32768.0f, 32124 / 32768.0f, -31100 / 32768.0f}));
  // Two channels are averaged.
  EXPECT_EQ(
      read(WavFile{.channels = 2,
                   .data = little(0x4000, 2) + little(0xC000, 2) + little(0x6000, 2) + little(0x2000, 2)}
               .text()),
      (std::vector<float>{0.0f, 0.5f}));
}

TEST_F(Sound, UnknownSizesEndWithTheFile) {
  // Programs that write to a pipe do not know the size in advance. ffmpeg, SoX, espeak-ng and arecord put one
  // of these sizes into the header.
  for (const std::uint64_t size : {0ull, 0xFFFFFFFFull, 0x7FFFF000ull, 0x7FFFFF00ull, 0x80000000ull})
    EXPECT_EQ(read(WavFile{.data = little(0x4000, 2), .size = size}.text()), std::vector<float>{0.5f});
  // SoX rounds 0x7FFFF000 down to whole frames: for frames of 6 bytes, to 0x7FFFEFFC.
  const std::string two = little(0x400000, 3) + little(0x400000, 3);
  EXPECT_EQ(read(WavFile{.channels = 2, .bits = 24, .data = two, .size = 0x7FFFEFFC}.text()),
            std::vector<float>{0.5f});
  EXPECT_TRUE(read(WavFile{}.text()).empty());  // a file without samples is valid
  // Chunks after an empty chunk of samples are not samples.
  const std::string list = "LIST" + little(6, 4) + "INFOab";
  EXPECT_TRUE(read(WavFile{.data = list, .size = 0}.text()).empty());
  // If the size of the file is unknown or too small as well, all bytes are samples.
  for (const std::uint64_t size : {0xFFFFFFFFull, 0x7FFFF000ull, 0x80000000ull, 30ull}) {
    const std::string text = WavFile{.data = list, .size = 0}.text();
    EXPECT_EQ(read("RIFF" + little(size, 4) + text.substr(8)).size(), list.size() / 2) << size;
  }
}

TEST_F(Sound, Rf64HasSizesOf64Bits) {
  const auto rf64 = [](std::uint64_t size) {
    std::string text = WavFile{.data = little(0x4000, 2) + "rest", .size = 0xFFFFFFFF}.text();
    return "RF64" + text.substr(4, 8) + "ds64" + little(28, 4) + little(100, 8) + little(size, 8) +
           std::string(12, '\0') + text.substr(12);
  };
  EXPECT_EQ(read(rf64(2)), std::vector<float>{0.5f});
  EXPECT_REGARD_ERROR(read(rf64(8)), ErrorKind::bad_file, "truncated");
  EXPECT_REGARD_ERROR(read(rf64(std::uint64_t{1} << 40)), ErrorKind::bad_file, "truncated");
}

TEST_F(Sound, DamagedFilesAreErrors) {
  const auto expect = [&](const std::string& bytes, const char* what) {
    EXPECT_REGARD_ERROR(read(bytes), ErrorKind::bad_file, what);
  };
  const std::string whole = WavFile{.data = std::string(200, 'a')}.text();
  expect("", "the file is empty");
  expect(whole.substr(0, whole.size() - 7), "truncated");
  expect(whole.substr(0, 30), "truncated");
  expect(whole.substr(0, 40), "no samples");
  expect(WavFile{.channels = 0}.text(), "channels");
  expect(WavFile{.channels = 65}.text(), "1 to 64");
  expect(WavFile{.rate = 0}.text(), "sampling rate");
  expect(WavFile{.bits = 12}.text(), "12 bits");
  expect(WavFile{.tag = 85}.text(), "format 85");
  expect(WavFile{.tag = 3, .bits = 32, .data = little(0x7F800000, 4)}.text(), "not finite");
  expect(std::string("RIFF\1\0\0\0WAVEdata\4\0\0\0abcd", 24), "precedes the chunk");
  EXPECT_REGARD_ERROR(data::read_sound(folder_ / "none", 16000, 1.0), ErrorKind::io, "none");
}

TEST_F(Sound, CutsAtEveryByteOfAHeaderThrowOnlyErrors) {
  const std::string whole = WavFile{.data = std::string(6, 'a')}.text();
  for (std::size_t size = 1; size < whole.size(); ++size)
    EXPECT_THROW(read(whole.substr(0, size)), Error) << size;
}

TEST_F(Sound, TooLongForItsReader) {
  write_file_atomically(folder_ / "long", WavFile{.data = std::string(64000, '\0')}.text());
  EXPECT_REGARD_ERROR(data::read_sound(folder_ / "long", 16000, 1.0), ErrorKind::invalid_input, "1 seconds");
}

TEST_F(Sound, ATextIsNotASound) {
  EXPECT_THROW(read("these are words, not sounds"), Error);
  EXPECT_FALSE(data::looks_like_sound(folder_ / "sound"));
  write_file_atomically(folder_ / "wav", WavFile{}.text());
  EXPECT_TRUE(data::looks_like_sound(folder_ / "wav"));
}

TEST_F(Sound, IsRecognisedByItsFirstBytes) {
  const auto looks_like_sound = [&](std::string_view first) {
    write_file_atomically(folder_ / "first", first);
    return data::looks_like_sound(folder_ / "first");
  };
  for (const char* first : {"fLaC", "OggS", "ID3", "FORM", "RF64", "caff", ".snd", "RIFF1234WAVE", "\xFF\xFB",
                            "\xFF\xF3", "\xFF\xE3", "\xFF\xFD"})
    EXPECT_TRUE(looks_like_sound(first)) << first;
  for (const char* first :
       {"", "\xFF", "\xFE\xFB", "\xFF\xF8", "\xFF\xE1", "\xFF\xDB", "fLa", "RIFF1234AVI ", "RIFF1234WAV"})
    EXPECT_FALSE(looks_like_sound(first)) << first;
}

// Resampling keeps the frequency and amplitude of a tone and changes the number of samples in proportion.
TEST_F(Sound, ResampledTone) {
  std::string samples;
  constexpr std::int64_t kRate = 44100, kFrames = 44100;
  const auto tone = [](std::int64_t i, std::int64_t rate) {
    return 0.5 *
           std::sin(2.0 * std::numbers::pi * 440.0 * static_cast<double>(i) / static_cast<double>(rate));
  };
  for (std::int64_t i = 0; i < kFrames; ++i)
    samples += little(
        static_cast<std::uint16_t>(static_cast<std::int16_t>(std::lround(32768.0 * tone(i, kRate)))), 2);
  std::vector<float> found;
  try {
    found = read(WavFile{.rate = kRate, .data = samples}.text());
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("libsoxr"), std::string::npos) << error.what();
    GTEST_SKIP() << "built without libsoxr";
  }
  ASSERT_NEAR(static_cast<double>(found.size()), 16000.0, 1.0);
  for (std::int64_t i = 1000; i < 15000; ++i)
    ASSERT_NEAR(found[static_cast<std::size_t>(i)], tone(i, 16000), 1e-3) << i;
}

// The filters of a resampler overflow for very large samples. The result would be infinite, so it is an
// error.
TEST_F(Sound, SamplesThatOverflowWhenResampledAreErrors) {
  std::string samples;
  for (int i = 0; i < 400; ++i) samples += little(0x7F7FFFFF, 4);  // FLT_MAX
  const auto wav = [&](std::uint64_t rate) {
    return WavFile{.tag = 3, .rate = rate, .bits = 32, .data = samples}.text();
  };
  EXPECT_EQ(read(wav(16000)).size(), 400u);
  EXPECT_REGARD_ERROR(read(wav(22050)), ErrorKind::bad_file, "sound");
}

TEST_F(Sound, NoSamplesAndSilence) {
  EXPECT_TRUE(read(WavFile{}.text()).empty());
  const std::vector<float> silent = read(WavFile{.data = std::string(2000, '\0')}.text());
  EXPECT_EQ(silent, std::vector<float>(1000, 0.0f));
  ThreadPool pool(1);
  for (const auto kind :
       {SoundProcessor::Kind::whisper, SoundProcessor::Kind::ast, SoundProcessor::Kind::samples}) {
    SoundProcessor processor;
    processor.kind = kind, processor.samples = 16000, processor.frames = 100, processor.normalise = true;
    for (const std::vector<float>& sound : {silent, std::vector<float>()}) {
      const Tensor features = processor.apply(pool, sound);
      for (std::int64_t i = 0; i < features.elements(); ++i)
        ASSERT_TRUE(std::isfinite(features.f32()[i])) << static_cast<int>(kind) << " " << sound.size();
    }
  }
}

// --- the transform ---

class Fft : public EachIsa {};

TEST_P(Fft, EqualsTheDefinition) {
  for (const std::int64_t size : {1, 2, 3, 4, 5, 8, 12, 14, 15, 33, 400, 512}) {
    constexpr std::int64_t kLanes = data::Fft::kLanes;
    const data::Fft fft(size);
    std::vector<double> real(static_cast<std::size_t>(size * kLanes)), imaginary(real),
        scratch(2 * real.size());
    for (std::size_t i = 0; i < real.size(); ++i)
      real[i] = std::sin(static_cast<double>(i * i % 97)),
      imaginary[i] = std::cos(static_cast<double>(i * 7 % 89));
    const std::vector<double> re = real, im = imaginary;
    fft.transform(real.data(), imaginary.data(), scratch.data());
    for (std::int64_t k = 0; k < size; ++k)
      for (const std::int64_t lane : {std::int64_t{0}, kLanes - 1}) {
        std::complex<double> sum = 0.0;
        for (std::int64_t n = 0; n < size; ++n) {
          const auto at = static_cast<std::size_t>(n * kLanes + lane);
          sum += std::complex(re[at], im[at]) *
                 std::polar(1.0, -2.0 * std::numbers::pi * static_cast<double>(n * k % size) /
                                     static_cast<double>(size));
        }
        const auto at = static_cast<std::size_t>(k * kLanes + lane);
        ASSERT_NEAR(real[at], sum.real(), 1e-11 * static_cast<double>(size)) << size << " " << k;
        ASSERT_NEAR(imaginary[at], sum.imag(), 1e-11 * static_cast<double>(size)) << size << " " << k;
      }
  }
}

REGARD_EACH_ISA(Fft);

// --- features ---

class Features : public ::testing::TestWithParam<const char*> {};

TEST_P(Features, AreThoseOfTransformers) {
  const std::string name = GetParam();
  const testing::Golden golden("sound", name);
  const SoundProcessor processor = SoundProcessor::open(testing::golden("sound/" + name), 0, 80);
  const bool ast = processor.kind == SoundProcessor::Kind::ast;
  std::size_t compared = 0;
  for (const formats::TensorEntry& entry : golden.entries()) {
    if (!entry.name.starts_with("waveform.")) continue;
    const std::string sound = entry.name.substr(9);
    const Tensor samples = golden.tensor(entry.name);
    const Tensor expected = golden.tensor((ast ? "input_values." : "input_features.") + sound);
    ThreadPool one(1), three(3);
    const std::span<const float> all(samples.f32(), static_cast<std::size_t>(samples.elements()));
    const Tensor found = processor.apply(one, all), again = processor.apply(three, all);
    ASSERT_EQ(std::memcmp(found.data(), again.data(), found.bytes()), 0) << sound;
    ASSERT_EQ(found.elements(), expected.elements()) << sound;
    double worst = 0.0;
    for (std::int64_t frame = 0; frame < found.rows(); ++frame)
      for (std::int64_t bin = 0; bin < found.columns(); ++bin) {
        const double golden_value = ast ? expected.at({frame, bin}) : expected.at({bin, frame});
        // Logarithms of energies near zero differ more (case.json of the golden).
        const bool near_zero = ast && golden.tensor("fbank." + sound).at({frame, bin}) < -15.0;
        const double difference = std::abs(static_cast<double>(found.row(frame)[bin]) - golden_value);
        worst = std::max(worst, near_zero ? difference / 20.0 : difference);
      }
    EXPECT_LE(worst, 1e-4) << sound;
    RecordProperty(sound, std::to_string(worst));
    ++compared;
  }
  EXPECT_GE(compared, 1u);
}

INSTANTIATE_TEST_SUITE_P(Extractors, Features,
                         ::testing::Values("whisper-features-80", "whisper-features-128", "ast-features"),
                         [](const auto& about) {
                           std::string name = about.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(SoundProcessors, NormalisedWhisper) {
  const testing::Golden golden("sound", "whisper-features-80");
  SoundProcessor processor = SoundProcessor::open(testing::golden("sound/whisper-features-80"), 0, 80);
  processor.normalise = true;
  const Tensor samples = golden.tensor("waveform.sines"), expected = golden.tensor("normalized.sines");
  ThreadPool pool(1);
  const Tensor found = processor.apply(pool, {samples.f32(), static_cast<std::size_t>(samples.elements())});
  for (std::int64_t frame = 0; frame < found.rows(); ++frame)
    for (std::int64_t bin = 0; bin < found.columns(); ++bin)
      ASSERT_NEAR(static_cast<double>(found.row(frame)[bin]), expected.at({bin, frame}), 1e-4);
}

// transformers reads processor_config.json first, and derives a missing class from config.json.
TEST(SoundProcessors, SettingsOfOlderAndNewerFolders) {
  testing::TemporaryFolder folder;
  write_file_atomically(folder / "preprocessor_config.json", R"({"do_normalize": false})");
  write_file_atomically(folder / "config.json", R"({"model_type": "wav2vec2"})");
  SoundProcessor processor = SoundProcessor::open(folder.path(), 0, 1);
  EXPECT_EQ(processor.kind, SoundProcessor::Kind::samples);
  EXPECT_FALSE(processor.normalise);
  write_file_atomically(
      folder / "processor_config.json",
      R"({"feature_extractor": {"feature_extractor_type": "ASTFeatureExtractor", "max_length": 77}})");
  processor = SoundProcessor::open(folder.path(), 0, 1);
  EXPECT_EQ(processor.kind, SoundProcessor::Kind::ast);
  EXPECT_EQ(processor.frames, 77);
}

TEST(SoundProcessors, WrongValuesNameFileAndKey) {
  testing::TemporaryFolder folder;
  const auto expect = [&](const char* text, const char* what) {
    write_file_atomically(folder / "preprocessor_config.json", text);
    EXPECT_REGARD_ERROR(SoundProcessor::open(folder.path(), 0, 80), ErrorKind::bad_file, what);
  };
  expect("[]", "not a JSON object");
  expect(R"({"feature_extractor_type": "ViTFeatureExtractor"})", "feature_extractor_type");
  expect(R"({"feature_extractor_type": "WhisperFeatureExtractor", "hop_length": 0})", "hop_length");
  expect(R"({"feature_extractor_type": "WhisperFeatureExtractor", "dither": 0.5})", "dither");
  expect(R"({"feature_extractor_type": "ASTFeatureExtractor", "std": 0})", "std");
  expect(R"({"feature_extractor_type": "WhisperFeatureExtractor", "sampling_rate": 1})", "sampling_rate");
}

TEST(FrameStore, ReadsTheSameFromMemoryAndFromAFile) {
  for (const std::size_t limit : {std::size_t{0}, std::size_t{100}, std::size_t{1} << 20}) {
    data::FrameStore store(3, limit);
    std::vector<float> rows(30);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
    for (std::size_t i = 0; i < 30; i += 6) store.append(std::span(rows).subspan(i, 6));
    ASSERT_EQ(store.rows(), 10);
    std::vector<float> some(9);
    store.read(4, 3, some.data());
    EXPECT_TRUE(std::equal(some.begin(), some.end(), rows.begin() + 12)) << limit;
  }
}

}  // namespace
}  // namespace regard::testing
