// caption, zero-shot classify, and embed --images, called as by a user.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "regard/pictures.h"
#include "support/caption_model.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;

std::string clip_folder() {
  return golden("hf-more/clip-words").string();
}

std::string picture(const std::string& name) {
  return golden("pictures/" + name).string();
}

TEST(CaptionCommand, WritesOneLineForEachImage) {
  const TemporaryFolder place;
  const fs::path model = write_caption_model(place / "captioner");
  const std::vector<std::string> arguments{"caption",           model.string(), picture("turned1.jpg"),
                                           picture("deep.png"), "--max-new",    "6"};
  const ProgramResult plain = run_program(arguments, place.path());
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  const std::vector<std::string> lines = lines_of(plain.out);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].substr(0, 1), "w");
  std::vector<std::string> more = arguments;
  more.insert(more.end(), {"--json", "--beam", "3", "--n-best", "2"});
  const ProgramResult json = run_program(more, place.path());
  ASSERT_EQ(json.exit_code, 0) << json.err;
  const Json first = parse_json(lines_of(json.out).at(0), "stdout");
  EXPECT_EQ(first["file"], picture("turned1.jpg"));
  EXPECT_EQ(first["hypotheses"].size(), 2u);
  // Read the picture from standard input.
  const ProgramResult piped = run_program({"caption", model.string(), "-", "--max-new", "6"}, place.path(),
                                          read_file(picture("deep.png")));
  ASSERT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_EQ(lines_of(piped.out).at(0), lines[1]);
}

// If this fails, the library ignores interventions that the command applies.
TEST(CaptionCommand, TheLibraryAppliesTheSameInterventions) {
  const TemporaryFolder place;
  const fs::path folder = write_caption_model(place / "captioner");
  const auto in_library = [&](const std::vector<std::string>& interventions) {
    return Captioner(load(folder), {.max_new = 6, .interventions = interventions})
        .caption(picture("turned1.jpg"))
        .at(0);
  };
  const std::vector<std::string> changes{"zero encoder.0", "zero cross.0.0"};
  const ProgramResult result = run_program({"caption", folder.string(), picture("turned1.jpg"), "--max-new",
                                            "6", "--intervene", changes[0], "--intervene", changes[1]},
                                           place.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(in_library(changes), lines_of(result.out).at(0));
  EXPECT_NE(in_library(changes), in_library({}));
}

// If all states of the encoder come from another image, the captions equal the captions of that image.
TEST(CaptionCommand, TakesValuesFromAnotherImage) {
  const TemporaryFolder place;
  const std::string model = write_caption_model(place / "captioner").string();
  const auto hypotheses = [&](const std::string& file, const std::string& other) {
    std::vector<std::string> arguments{"caption", model,    picture(file), "--max-new",
                                       "6",       "--beam", "2",           "--json"};
    if (!other.empty())
      arguments.insert(arguments.end(), {"--intervene", "patch encoder.0.residual file=" + picture(other)});
    const ProgramResult result = run_program(arguments, place.path());
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return parse_json(result.out, "stdout")["hypotheses"];
  };
  const Json own = hypotheses("deep.png", ""), other = hypotheses("turned1.jpg", "");
  EXPECT_NE(own, other);
  EXPECT_EQ(hypotheses("deep.png", "turned1.jpg"), other);
  EXPECT_EQ(hypotheses("deep.png", "deep.png"), own);
}

TEST(CaptionCommand, OtherModelsAndFilesAreRefused) {
  const TemporaryFolder place;
  const ProgramResult vit =
      run_program({"caption", golden("hf-tiny/vit").string(), picture("deep.png")}, place.path());
  EXPECT_EQ(vit.exit_code, 2);
  EXPECT_NE(vit.err.find("VisionEncoderDecoder"), std::string::npos) << vit.err;
  const ProgramResult gif = run_program(
      {"caption", write_caption_model(place / "captioner").string(), picture("animated.gif"), "-o", "result"},
      place.path());
  EXPECT_NE(gif.exit_code, 0);
  EXPECT_NE(gif.err.find("found GIF"), std::string::npos) << gif.err;
  EXPECT_FALSE(fs::exists(place.path() / "result"));
}

TEST(ClassifyCommand, LabelsMayBeGivenAsWords) {
  const TemporaryFolder place;
  const Json about = read_json((golden("hf-more/clip-words") / "case.json").string());
  for (const Json& one : about["cases"]) {
    const auto pattern = one["pattern"].get<std::string>();
    const ProgramResult result =
        run_program({"classify", clip_folder(), picture(one["picture"].get<std::string>()), "--labels",
                     "a cat, a Dog,Photo of a red cat,xyz!", "--pattern", pattern, "--top", "0", "--json"},
                    place.path());
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const Json labels = parse_json(lines_of(result.out).at(0), "stdout")["labels"];
    ASSERT_EQ(labels.size(), one["scores"].size());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      EXPECT_EQ(labels[i]["label"], one["scores"][i][0]);
      EXPECT_NEAR(labels[i]["score"].get<double>(), one["scores"][i][1].get<double>(), 5e-5);
    }
  }
}

TEST(ClassifyCommand, LabelsMayBeLongerThanTheNameOfAFile) {
  const TemporaryFolder place;
  std::string labels = "a cat";
  for (int i = 0; i < 60; ++i) labels += ",a dog " + std::to_string(i);
  ASSERT_GT(labels.size(), 255u);
  const ProgramResult result = run_program(
      {"classify", clip_folder(), picture("deep.png"), "--labels", labels, "--top", "0", "--json"},
      place.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(parse_json(lines_of(result.out).at(0), "stdout")["labels"].size(), 61u);
}

// If this fails, the name of the pipe is the only label, and its score is 1.
TEST(ClassifyCommand, LabelsMayBeLinesOfAPipe) {
  const TemporaryFolder place;
  ASSERT_EQ(::mkfifo((place / "labels").c_str(), 0600), 0);
  std::jthread writer([&] { std::ofstream(place / "labels") << "a cat\na dog\n"; });
  const ProgramResult result = run_program(
      {"classify", clip_folder(), picture("deep.png"), "--labels", "labels", "--top", "0"}, place.path());
  // The writer waits for a reader if the program has not opened the pipe.
  const int reader = ::open((place / "labels").c_str(), O_RDONLY | O_NONBLOCK);
  writer.join();
  ::close(reader);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("a dog\t"), std::string::npos) << result.out;
}

TEST(ClassifyCommand, LabelsMayBeLinesOfAFileAndPicturesLinesOfAList) {
  const TemporaryFolder place;
  write_file(place.path(), "blank", "a cat\n \na dog\n");
  const ProgramResult blank =
      run_program({"classify", clip_folder(), picture("deep.png"), "--labels", "blank"}, place.path());
  EXPECT_EQ(blank.exit_code, 3) << blank.out;
  EXPECT_NE(blank.err.find("blank:2: a label is empty"), std::string::npos) << blank.err;
  write_file(place.path(), "labels", "a cat\na dog, sitting\n");
  const ProgramResult result =
      run_program({"classify", clip_folder(), "--labels", "labels", "--top", "2"}, place.path(),
                  picture("turned1.jpg") + "\n" + picture("deep.png") + "\n");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(lines_of(result.out).size(), 2u);
  EXPECT_NE(result.out.find("a dog, sitting\t"), std::string::npos);
  const ProgramResult none = run_program({"classify", clip_folder(), picture("deep.png")}, place.path());
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("--labels \"a cat,a dog\""), std::string::npos) << none.err;
  const ProgramResult empty =
      run_program({"classify", clip_folder(), picture("deep.png"), "--labels", "a,,b"}, place.path());
  EXPECT_EQ(empty.exit_code, 2);
  const ProgramResult vit = run_program(
      {"classify", golden("hf-tiny/vit-patch16").string(), picture("deep.png"), "--pattern", "{}"},
      place.path());
  EXPECT_EQ(vit.exit_code, 2);
}

TEST(ClassifyCommand, ASkippedLineOfAListHasItsNumber) {
  const TemporaryFolder place;
  const std::string list = picture("deep.png") + "\n\xFF\n" + picture("turned1.jpg") + "\n";
  for (const std::vector<std::string>& model : std::vector<std::vector<std::string>>{
           {golden("hf-tiny/vit-patch16").string()}, {clip_folder(), "--labels", "a,b"}}) {
    std::vector<std::string> arguments{"classify", "--json", "--skip-bad"};
    arguments.insert(arguments.end(), model.begin(), model.end());
    const ProgramResult result = run_program(arguments, place.path(), list);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    ASSERT_EQ(lines_of(result.out).size(), 3u) << result.out;
    EXPECT_EQ(parse_json(lines_of(result.out)[1], "stdout")["line"], 2) << model[0];
  }
}

TEST(ClassifyCommand, AnUnreadableImageOfAListIsSkipped) {
  const TemporaryFolder place;
  testing::write_file(place.path(), "bad.png", "\x89PNG\r\n\x1A\nrubbish");
  const ProgramResult result =
      run_program({"classify", golden("hf-tiny/vit-patch16").string(), "--json", "--skip-bad"}, place.path(),
                  "bad.png\n" + picture("deep.png") + "\n");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  ASSERT_EQ(lines_of(result.out).size(), 2u) << result.out;
  EXPECT_TRUE(parse_json(lines_of(result.out)[0], "stdout").contains("error"));
  EXPECT_NE(result.err.find("bad.png"), std::string::npos) << result.err;
}

// An intervention changes the results of its own encoder only. At positions that do not exist, it changes
// nothing.
TEST(ClassifyCommand, InterventionsChangeEitherEncoder) {
  const TemporaryFolder place;
  const auto run = [&](const std::vector<std::string>& verb, const std::vector<std::string>& options) {
    std::vector<std::string> arguments = verb;
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run_program(arguments, place.path(), picture("deep.png") + "\n");
  };
  const std::vector<std::string> labels{"classify", clip_folder(), "--labels", "a cat,a dog", "--json"};
  const std::vector<std::string> images{"embed", clip_folder(), "--images", "--json"};
  for (const auto& verb : {labels, images}) {
    const std::string whole = run(verb, {}).out;
    ASSERT_FALSE(whole.empty());
    const auto with = [&](const std::vector<std::string>& options) {
      const ProgramResult result = run(verb, options);
      EXPECT_EQ(result.exit_code, 0) << result.err;
      return result.out;
    };
    EXPECT_EQ(with({"--intervene", "zero vision.encoder.0.0 positions=9000", "--intervene",
                    "zero text.encoder.0.0 positions=9000"}),
              whole);
    const std::string off = with({"--ablate", "vision.0.0"});
    EXPECT_NE(off, whole);
    EXPECT_EQ(with({"--intervene", "zero vision.encoder.0.0"}), off);
    const std::string text = with({"--intervene", "zero text.encoder.0"});
    EXPECT_EQ(text == whole, verb == images);  // images do not pass through the text encoder
    EXPECT_EQ(with({"--intervene", "patch text.encoder.embedding text=\"a dog\" positions=1-2"}) == whole,
              verb == images);
    for (const char* wrong : {"zero encoder.0.0", "zero vision.encoder.9.0", "zero vision.decoder.0",
                              "patch vision.encoder.0.residual text=\"a dog\""}) {
      const ProgramResult refused = run(verb, {"--intervene", wrong});
      EXPECT_EQ(refused.exit_code, 2) << wrong << refused.err;
    }
    EXPECT_EQ(run(verb, {"--ablate", "0.0"}).exit_code, 2);
    EXPECT_EQ(run(verb, {"--ablate", "vision."}).exit_code, 2);
    EXPECT_EQ(run(verb, {"--attend", "file"}).exit_code, 2);
  }
}

TEST(EmbedCommand, FindsPicturesByWords) {
  const TemporaryFolder place;
  const Json about = read_json((golden("hf-more/clip-words") / "case.json").string());
  std::string files, texts;
  for (const Json& name : about["pictures"]) files += picture(name.get<std::string>()) + "\n";
  for (const Json& text : about["labels"]) texts += text.get<std::string>() + "\n";
  const auto vectors = [&](const std::vector<std::string>& options, const std::string& input,
                           const Json& expected) {
    std::vector<std::string> arguments{"embed", clip_folder(), "--json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const ProgramResult result = run_program(arguments, place.path(), input);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const std::vector<std::string> lines = lines_of(result.out);
    ASSERT_EQ(lines.size(), expected.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto found = parse_json(lines[i], "stdout")["embedding"].get<std::vector<float>>();
      for (std::size_t k = 0; k < found.size(); ++k)
        EXPECT_NEAR(found[k], expected[i][k].get<float>(), 2e-5f);
    }
  };
  vectors({}, texts, about["text_embeds"]);
  vectors({"--images"}, files, about["image_embeds"]);
  const ProgramResult found = run_program(
      {"embed", clip_folder(), "--images", "--query", "a cat", "--top", "2"}, place.path(), files);
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_EQ(lines_of(found.out).size(), 2u);
  EXPECT_NE(found.out.find("/pictures/"), std::string::npos);
  const ProgramResult wrong =
      run_program({"embed", golden("hf-more/st-mean").string(), "--images"}, place.path(), files);
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.err.find("CLIP or SigLIP"), std::string::npos) << wrong.err;
}

}  // namespace
}  // namespace regard::testing
