// Tokenizers, runners and conversations used from four threads at once, on pools of one and two threads. The
// threads share one object; the calls that run alone use another one.
#include <map>
#include <memory>
#include <mutex>

#include "api/together.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

using testing::Bits;
using testing::golden;

class TensorsTogether : public ::testing::TestWithParam<int> {
 protected:
  testing::TemporaryFolder folder_;

 private:
  testing::ThreadsDuring threads_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Pools, TensorsTogether, ::testing::Values(1, 2));

Bits bits_of(const Encoding& encoding) {
  Bits bits;
  bits.add(encoding.ids).add(encoding.tokens).add(encoding.types).add(encoding.words);
  for (const TextOffsets& one : encoding.offsets) bits.add(one.begin).add(one.end);
  for (const Encoding& part : encoding.overflowing) bits.add(bits_of(part).text());
  return bits;
}

Bits bits_of(const NamedTensors& tensors) {
  Bits bits;
  for (const auto& [name, tensor] : tensors) bits.add(name).add(tensor);
  return bits;
}

TEST_P(TensorsTogether, Tokenizers) {
  const Tokenizer alone(golden("hf-more/bert-nli")), shared(golden("hf-more/bert-nli"));
  const auto of = [&](int thread) -> const Tokenizer& { return thread < 0 ? alone : shared; };
  std::string text;
  for (int i = 0; i < 50; ++i) text += "Green rivers, the bank " + std::to_string(i) + ". ";
  const std::vector<TextPair> texts{{text}, {"a", "river"}, {""}, {text, text}};
  const std::vector<std::filesystem::path> files{testing::write_file(folder_.path(), "t.txt", text)};
  testing::expect_bits_of_each_alone(
      {
          {"encode", [&](int t) { return bits_of(of(t).encode(text, {.max_length = 20, .stride = 3})); }},
          {"encode a pair", [&](int t) { return bits_of(of(t).encode("a river", text)); }},
          {"encode many",
           [&](int t) {
             Bits bits;
             for (const Encoding& one : of(t).encode(texts)) bits.add(bits_of(one).text());
             return bits;
           }},
          {"ids and decode", [&](int t) { return Bits().add(of(t).decode(of(t).ids(text))); }},
          {"a stream",
           [&](int t) {
             TokenStream stream(of(t));
             Bits bits;
             for (const std::int32_t id : of(t).ids("Green rivers")) bits.add(stream.push(id));
             return bits.add(stream.finish());
           }},
          {"vocabulary", [&](int t) { return Bits().add(of(t).vocabulary_size()).add(of(t).json()); }},
          {"train",
           [&](int) { return Bits().add(Tokenizer::train(files, {.vocabulary_size = 300}).json()); }},
      },
      2);
}

TEST_P(TensorsTogether, Runners) {
  for (const std::string name : {"bert", "gpt2"}) {
    const std::filesystem::path model = golden("hf-tiny/" + name);
    const Runner alone(model), shared(model);
    const auto of = [&](int thread) -> const Runner& { return thread < 0 ? alone : shared; };
    NamedTensors inputs;
    for (const auto& [input, tensor] : read_tensors(model / "golden.safetensors"))
      if (input == "input_ids" || input == "attention_mask" || input == "labels") inputs[input] = tensor;
    NamedTensors weighted = inputs;
    if (name == "bert") weighted["loss_weight.pooler_output"] = random_normal({3, 32}, 1, "weights");
    const std::filesystem::path file = folder_ / (name + ".safetensors");
    write_tensors(file, inputs);
    std::vector<testing::Entry> entries{
        {"all", [&](int t) { return bits_of(of(t).run(inputs)); }},
        {"gradients", [&](int t) { return bits_of(of(t).run(weighted, {.capture = {"gradients"}})); }},
        {"attentions", [&](int t) { return bits_of(of(t).run(inputs, {.capture = {"attentions"}})); }},
        {"read", [&](int) { return bits_of(read_tensors(file)); }},
        {"open", [&](int) { return bits_of(Runner(model).run(inputs, {.capture = {"hidden_states"}})); }},
    };
    if (name == "gpt2")
      entries.push_back(
          {"generate", [&](int t) { return bits_of(of(t).generate(inputs, {.beam = 1, .max_new = 5})); }});
    testing::expect_bits_of_each_alone(entries, 2);
  }
}

// Every thread adds conversations and calls step(). Each answer equals that of a separate call of chat().
TEST_P(TensorsTogether, Conversations) {
  testing::write_text_model(folder_ / "gpt", "gpt");
  testing::write_file(folder_ / "gpt", "tokenizer_config.json",
                      R"({"chat_template": "{% for m in messages %}{{ m.content }} {% endfor %}"})");
  const Model model = load(folder_ / "gpt");
  const std::vector<std::vector<Message>> conversations{
      {{"user", "the fox"}},
      {{"user", "a"}, {"assistant", "dog"}, {"user", "the"}},
      {{"system", "lazy"}},
      {{"user", "quick"}}};
  std::vector<std::string> alone;
  for (const auto& each : conversations) alone.push_back(model.chat(each, {.max_new = 7}).at(0).text);
  Sessions sessions(model, {.rows = 3, .cache_tokens = 1024});
  std::mutex guard;
  std::vector<std::string> shown(4), results(4);
  std::atomic<int> ended{0};
  testing::on_four_threads([&](int thread) {
    const auto at = static_cast<std::size_t>(thread);
    SessionCallbacks callbacks;
    callbacks.text = [&, at](std::string_view piece) {
      const std::lock_guard lock(guard);
      shown[at] += piece;
    };
    callbacks.done = [&, at](const SessionResult& result) {
      const std::lock_guard lock(guard);
      results[at] = result.text;
      ++ended;
    };
    sessions.chat(conversations[at], {.max_new = 7}, callbacks);
    while (ended < 4) sessions.step();
  });
  EXPECT_EQ(results, alone);
  EXPECT_EQ(shown, alone);
}

}  // namespace
}  // namespace regard::testing
