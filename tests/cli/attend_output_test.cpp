// What `regard attend` prints and draws, compared with the numbers of its own capture.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/json.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

class AttendOutput : public ::testing::Test {
 protected:
  std::string out(const std::vector<std::string>& model, const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{"attend", "-q"};
    arguments.insert(arguments.end(), model.begin(), model.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = run_program(arguments, folder_.path());
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }
  void expect_refused(const std::vector<std::string>& arguments, const std::string& message) const {
    std::vector<std::string> all{"attend"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const ProgramResult result = run_program(all, folder_.path());
    EXPECT_EQ(result.exit_code, 2) << message;
    EXPECT_EQ(result.err, "regard: " + message + "\n");
  }
  // Return the texts of an SVG image that have this class.
  static std::vector<std::string> svg_texts(const std::string& svg, const std::string& name) {
    const std::string before = "class=\"" + name + "\"";
    std::vector<std::string> found;
    for (std::size_t at = svg.find(before); at != svg.npos; at = svg.find(before, at + 1)) {
      const std::size_t begin = svg.find('>', at) + 1;
      found.push_back(svg.substr(begin, svg.find('<', begin) - begin));
    }
    return found;
  }
  // Return the titles of the maps printed to the terminal.
  static std::vector<std::string> printed_titles(const std::string& text) {
    std::vector<std::string> found;
    const std::string after = "; percent of each row";
    for (const std::string& line : lines_of(text))
      if (line.ends_with(after)) found.push_back(line.substr(0, line.size() - after.size()));
    return found;
  }
  TemporaryFolder folder_;
  const std::string whisper_ = golden("sound/whisper-small").string(),
                    sound_ = golden("sound/whisper-small/short.wav").string(),
                    vit_ = golden("hf-tiny/vit-patch16").string(),
                    picture_ = golden("pictures/deep.png").string();
};

TEST_F(AttendOutput, OptionsSelectTheMapsOfATextModel) {
  write_text_model(folder_ / "gpt", "gpt");
  const std::vector<std::string> model{"gpt", "the fox"};
  const auto head = [](int layer, int index) {
    return fmt::format("decoder self-attention, layer {}, head {}", layer, index);
  };
  std::vector<std::string> all, first;
  for (int i = 0; i < 8; ++i) all.push_back(head(i / 4, i % 4));
  first.assign(all.begin(), all.begin() + 4);
  // With one of --layer and --head, the map of each layer or head that depends most on the query is drawn.
  const Json capture = parse_json(out(model, {"--json"}), "stdout");
  std::vector<std::string> best_of_layers;
  std::vector<double> best;
  for (int layer = 0; layer < 2; ++layer) {
    std::pair<double, int> most{-1, 0};
    for (const Json& map : capture["attention"])
      if (map["layer"] == layer)
        most = std::max(most, {map["telling"].get<double>(), map["head"].get<int>()});
    best_of_layers.push_back(head(layer, most.second));
    best.push_back(most.first);
  }
  const std::string one = best_of_layers[best[1] > best[0] ? 1 : 0];
  for (const auto& [options, expected] :
       {std::pair(std::vector<std::string>{}, std::vector<std::string>{one}),
        {{"--all"}, all},
        {{"--layer", "0", "--layer", "1"}, best_of_layers},
        {{"--layer", "0", "--head", "2", "--head", "3"}, {head(0, 2), head(0, 3)}},
        {{"--layer", "0", "--average"}, {"decoder self-attention, layer 0, average of 4 heads"}}}) {
    std::vector<std::string> drawn = options;
    drawn.insert(drawn.end(), {"--svg", "-"});
    EXPECT_EQ(printed_titles(out(model, options)), expected) << Json(options);
    EXPECT_EQ(svg_texts(out(model, drawn), "title"), expected) << Json(options);
  }
}

TEST_F(AttendOutput, ThePageHasTheComparedText) {
  write_text_model(folder_ / "gpt", "gpt");
  write_text_model(folder_ / "translator", "translator");
  const auto compared = [&](const std::string& model, const std::vector<std::string>& options) {
    std::vector<std::string> page{"--compare", "a fox", "--html", "page.html"};
    page.insert(page.end(), options.begin(), options.end());
    EXPECT_EQ(out({model, "the dog"}, page), "");
    const std::string text = file_content(folder_ / "page.html"), before = "id=\"data\">";
    const std::size_t begin = text.find(before) + before.size();
    Json capture = parse_json(text.substr(begin, text.find("</script>", begin) - begin), "page");
    EXPECT_EQ(capture["text"], "the dog");
    return capture["compared"];
  };
  const auto expect_the_same = [&](const Json& page, const Json& alone) {
    for (const char* key : {"text", "translation", "tokens"}) EXPECT_EQ(page[key], alone[key]) << key;
    ASSERT_EQ(page["attention"].size(), alone["attention"].size());
    for (std::size_t i = 0; i < alone["attention"].size(); ++i)
      EXPECT_EQ(page["attention"][i]["telling"], alone["attention"][i]["telling"]) << i;
  };
  const auto alone = [&](const std::string& model, const std::vector<std::string>& options) {
    std::vector<std::string> all{"--json"};
    all.insert(all.end(), options.begin(), options.end());
    return parse_json(out({model, "a fox"}, all), "stdout");
  };
  expect_the_same(compared("gpt", {}), alone("gpt", {}));
  expect_the_same(compared("gpt", {"--generate", "3"}), alone("gpt", {"--generate", "3"}));
  // --target belongs to the first text only.
  expect_the_same(compared("translator", {"--target", "a dog"}), alone("translator", {}));
}

// The printed times are those of the largest weights of each row.
TEST_F(AttendOutput, TheTimesOfASoundAreThoseOfTheLargestWeights) {
  const Json capture =
      parse_json(out({whisper_, sound_}, {"--target", "the fox", "--json", "--full"}), "stdout");
  const Json& names = capture["tokens"]["source"]["text"];
  EXPECT_EQ(capture["tokens"]["written"]["ids"], Json({305, 309, 313, 257, 297, 303}));
  const auto largest = [&](const std::vector<double>& weights) {
    std::vector<std::size_t> order(weights.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
    std::string text;
    for (std::size_t i = 0; i < 5; ++i)
      text += fmt::format("{}{} {:.0f} %", i == 0 ? "" : ", ", names[order[i]].get<std::string>(),
                          100 * weights[order[i]]);
    return text;
  };
  const Json* most = nullptr;
  for (const Json& map : capture["attention"])
    if (map["kind"] == "cross" && (most == nullptr || map["telling"] > (*most)["telling"])) most = &map;
  const Json& map = *most;
  std::string expected =
      fmt::format("{}\nthe fox\n\ncross-attention, layer {}, head {}; percent of each row\n{}\n", sound_,
                  map["layer"].get<int>(), map["head"].get<int>(), map["caption"].get<std::string>());
  for (std::size_t row = 0; row < 6; ++row)
    expected += capture["tokens"]["written"]["text"][row].get<std::string>() + ": " +
                largest(map["weights"][row].get<std::vector<double>>()) + "\n";
  EXPECT_EQ(out({whisper_, sound_}, {"--target", "the fox"}), expected);

  // A map of the encoder is printed as the mean of its rows.
  for (const Json& one : capture["attention"]) {
    if (one["kind"] != "encoder" || one["layer"] != 1 || one["head"] != 2) continue;
    std::vector<double> mean(100, 0.0);
    for (const Json& row : one["weights"])
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += row[i].get<double>() / 100;
    const std::string text =
        out({whisper_, sound_}, {"--target", "the fox", "--kind", "encoder", "--layer", "1", "--head", "2"});
    EXPECT_NE(text.find("\nencoder self-attention, layer 1, head 2; percent of each row\n"), text.npos)
        << text;
    EXPECT_TRUE(text.ends_with("\nmean over the positions: " + largest(mean) + "\n")) << text;
    return;
  }
  FAIL() << "the capture has no map of the encoder";
}

TEST_F(AttendOutput, TheGridsOfAPictureHaveTheWeightsOfTheClassToken) {
  const Json capture = parse_json(out({vit_, picture_}, {"--json", "--full"}), "stdout");
  const auto grid = [&](const Json& map) {
    std::string text =
        fmt::format("\nencoder self-attention, layer {}, head {}; percent of each patch\n    0   1   2\n",
                    map["layer"].get<int>(), map["head"].get<int>());
    for (std::size_t row = 0; row < 3; ++row) {
      text += std::to_string(row);
      for (std::size_t column = 0; column < 3; ++column) {
        const double percent = 100 * map["weights"][0][1 + 3 * row + column].get<double>();
        text += percent < 0.5 ? "   ·" : fmt::format(" {:3.0f}", percent);
      }
      text += "\n";
    }
    return text;
  };
  const auto grids = [&](const auto& chosen) {
    std::string text;
    for (const Json& map : capture["attention"])
      if (chosen(map)) text += grid(map);
    return text;
  };
  const std::string whole = out({vit_, picture_}, {});
  const std::string last = grids([](const Json& map) { return map["layer"] == 1; });
  const std::string rollout = "\nattention rollout; percent of each patch\n    0   1   2\n0 ";
  EXPECT_TRUE(whole.starts_with(picture_ + "\n" + rollout)) << whole;
  EXPECT_TRUE(whole.ends_with(last)) << whole << last;
  EXPECT_EQ(out({vit_, picture_}, {"--layer", "0", "--head", "2"}),
            picture_ + "\n" + grids([](const Json& map) { return map["layer"] == 0 && map["head"] == 2; }));
  const std::string all = out({vit_, picture_}, {"--all"});
  EXPECT_TRUE(all.ends_with(grids([](const Json&) { return true; }))) << all;
  EXPECT_EQ(all.substr(0, all.find("\n\n", 80) + 1), whole.substr(0, whole.find("\n\n", 80) + 1))
      << "the rollout comes first";
  // One tile for each grid: the rollout and the four heads of the last layer.
  EXPECT_EQ(svg_texts(out({vit_, picture_}, {"--svg", "-"}), "label").size(), 5u);
  EXPECT_EQ(svg_texts(out({vit_, picture_}, {"--svg", "-"}), "label")[0], "attention rollout");
}

// If the model generates text, each entry of --what-if has the text that is generated with the head ablated.
TEST_F(AttendOutput, WhatIfHasTheTextsWithoutEachHead) {
  write_text_model(folder_ / "gpt", "gpt");
  write_text_model(folder_ / "translator", "translator");
  const auto what_if = [&](const std::string& model, std::vector<std::string> options) {
    options.insert(options.end(), {"--json", "--html", "page.html"});
    const Json capture = parse_json(out({model, "the fox"}, options), "stdout");
    return capture.value("what_if", Json::array());
  };
  const Json generated = what_if("gpt", {"--generate", "4", "--what-if", "3"});
  ASSERT_EQ(generated.size(), 3u);
  const std::string head = generated[2]["off"];
  EXPECT_NE(generated[1]["off"], head);
  const Json ablated =
      parse_json(out({"gpt", "the fox"}, {"--generate", "4", "--ablate", head, "--json"}), "stdout");
  EXPECT_EQ(generated[2]["translation"], ablated["translation"]);
  EXPECT_EQ(generated[2]["translation"].get<std::string>().size(), 4u);
  for (const Json& one : what_if("gpt", {"--what-if", "3"})) EXPECT_FALSE(one.contains("translation"));
  const Json given = what_if("translator", {"--target", "a dog"});
  EXPECT_EQ(given.size(), 10u) << "the default";
  for (const Json& one : given) EXPECT_FALSE(one.contains("translation"));
  EXPECT_TRUE(what_if("translator", {"--what-if", "1"}).at(0).contains("translation"));
  EXPECT_EQ(what_if("translator", {"--what-if", "0"}).size(), 0u);
}

TEST_F(AttendOutput, OptionsWithoutEffectAreRefused) {
  write_text_model(folder_ / "gpt", "gpt");
  const std::string target = "--target needs an encoder-decoder model. Remove --target";
  expect_refused({"gpt", "the fox", "--target", "x"}, target);
  expect_refused({vit_, picture_, "--target", "x"}, target);
  expect_refused({golden("hf-tiny/ast").string(), sound_, "--target", "x"}, target);
  expect_refused({whisper_, sound_, "--svg", "a.svg"},
                 "--svg is not available for a sound model. Use --html");
  expect_refused({"gpt", "the fox", "--compare", "a fox"},
                 "--compare needs --html, because only the HTML page shows both texts. Add --html FILE");
  expect_refused({"gpt", "the fox", "--compare", "a fox", "--html", "p.html", "--pair", "x"},
                 "--compare cannot be combined with --pair. Remove one of the two options");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "p.html"));
}

}  // namespace
}  // namespace regard::testing
