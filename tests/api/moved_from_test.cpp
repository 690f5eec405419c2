// Moved-from objects throw an error that names their class. Copies made before the move still work.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "regard/regard.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using testing::golden;

TEST(MovedFrom, TensorIsNoTensor) {
  Tensor a = Tensor::of({2, 2}, {1, 2, 3, 4});
  Tensor b = std::move(a);
  EXPECT_FALSE(a.defined());
  EXPECT_EQ(a.shape(), Shape{0});
  EXPECT_EQ(a.f32(), nullptr);
  EXPECT_EQ(b.at({1, 0}), 3.0);
  Tensor c;
  c = std::move(b);
  EXPECT_FALSE(b.defined());
  EXPECT_EQ(c.at({1, 1}), 4.0);
  Tensor& same = c;
  c = std::move(same);
  EXPECT_EQ(c.at({1, 1}), 4.0) << "moved to itself";
  a = c;
  EXPECT_TRUE(equal_bits(a, c));
}

TEST(MovedFrom, ModelAndAttention) {
  const testing::TemporaryFolder folder;
  testing::write_text_model(folder / "gpt", "gpt");
  Model model = load(folder / "gpt");
  const Model copy = model;
  const Model taken = std::move(model);
  EXPECT_EQ(copy.generate("the", {.max_new = 4}), taken.generate("the", {.max_new = 4}));
  const std::vector<Message> conversation{{"user", "the"}};
  const std::string empty = "this Model was moved from";
  EXPECT_REGARD_ERROR(model.translate("the"), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(model.generate("the"), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(model.write("the"), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(model.chat(conversation), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(model.attend("the"), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(model.translates(), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(model.generates(), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(model.parameter_count(), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(model.warning(), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(session_memory(model), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(Sessions{model}, ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(Classifier{model}, ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(Answerer{model}, ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(Tagger{model}, ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(Filler{model}, ErrorKind::usage, empty);

  Attention attention = taken.attend("the");
  const Attention kept = std::move(attention);
  EXPECT_EQ(kept.text(), "the");
  const std::string none = "this Attention was moved from";
  EXPECT_REGARD_ERROR(attention.text(), ErrorKind::usage, none);
  EXPECT_REGARD_ERROR(attention.translation(), ErrorKind::usage, none);
  EXPECT_REGARD_ERROR(attention.source_tokens(), ErrorKind::usage, none);
  EXPECT_REGARD_ERROR(attention.target_tokens(), ErrorKind::usage, none);
  EXPECT_REGARD_ERROR(attention.written_tokens(), ErrorKind::usage, none);
  EXPECT_REGARD_ERROR(attention.layers(Kind::decoder), ErrorKind::usage, none);
  EXPECT_REGARD_ERROR(attention.heads(Kind::decoder), ErrorKind::usage, none);
  EXPECT_REGARD_ERROR(attention.weights(Kind::decoder, 0, 0), ErrorKind::usage, none);
  EXPECT_REGARD_ERROR(attention.json(), ErrorKind::usage, none);
  EXPECT_REGARD_ERROR(attention.svg(Kind::decoder, 0, 0), ErrorKind::usage, none);
  EXPECT_REGARD_ERROR(attention.html(), ErrorKind::usage, none);
  model = taken;
  EXPECT_TRUE(model.generates());
}

TEST(MovedFrom, Tasks) {
  const std::vector<std::string> texts{"Green."};
  Embedder embedder(golden("hf-more/st-mean"));
  const Embedder embeds = std::move(embedder);
  const Tensor vectors = embeds.embed("Green.");
  EXPECT_REGARD_ERROR(embedder.size(), ErrorKind::usage, "this Embedder was moved from");
  EXPECT_REGARD_ERROR(embedder.embed("Green."), ErrorKind::usage, "this Embedder was moved from");
  EXPECT_REGARD_ERROR(embedder.embed(texts), ErrorKind::usage, "this Embedder was moved from");
  EXPECT_REGARD_ERROR(embedder.similarities(vectors, vectors), ErrorKind::usage,
                      "this Embedder was moved from");

  Classifier classifier(load(golden("hf-more/bert-multilabel")));
  const Classifier classifies = std::move(classifier);
  EXPECT_FALSE(classifies.labels().empty());
  EXPECT_REGARD_ERROR(classifier.labels(), ErrorKind::usage, "this Classifier was moved from");
  EXPECT_REGARD_ERROR(classifier.classify("x"), ErrorKind::usage, "this Classifier was moved from");
  EXPECT_REGARD_ERROR(classifier.classify("x", "y"), ErrorKind::usage, "this Classifier was moved from");
  EXPECT_REGARD_ERROR(classifier.classify(texts), ErrorKind::usage, "this Classifier was moved from");
  EXPECT_REGARD_ERROR(classifier.classify_image("x.png"), ErrorKind::usage, "this Classifier was moved from");

  Answerer answerer(load(golden("hf-more/bert-qa-stride")));
  const Answerer answers = std::move(answerer);
  EXPECT_REGARD_ERROR(answerer.answer("who?", "she"), ErrorKind::usage, "this Answerer was moved from");

  Tagger tagger(load(golden("hf-more/bert-ner")));
  const Tagger tags = std::move(tagger);
  EXPECT_EQ(tags.labels().size(), 5u);
  EXPECT_REGARD_ERROR(tagger.labels(), ErrorKind::usage, "this Tagger was moved from");
  EXPECT_REGARD_ERROR(tagger.tag("she"), ErrorKind::usage, "this Tagger was moved from");
  EXPECT_REGARD_ERROR(tagger.tag_words(texts), ErrorKind::usage, "this Tagger was moved from");
  EXPECT_REGARD_ERROR(tagger.word_labels(texts), ErrorKind::usage, "this Tagger was moved from");

  Filler filler(load(golden("tasks/roberta-fill")));
  const Filler fills = std::move(filler);
  EXPECT_EQ(fills.mask(), "<mask>");
  EXPECT_REGARD_ERROR(filler.mask(), ErrorKind::usage, "this Filler was moved from");
  EXPECT_REGARD_ERROR(filler.fill("<mask>"), ErrorKind::usage, "this Filler was moved from");
}

TEST(MovedFrom, TokenizersAndRunners) {
  const std::vector<std::int32_t> ids{5};
  const std::vector<TextPair> texts{{"a"}};
  Tokenizer tokenizer(golden("hf-more/bert-nli"));
  TokenStream stream(tokenizer);
  TokenStream streams = std::move(stream);
  const Tokenizer copy = tokenizer, tokenizes = std::move(tokenizer);
  EXPECT_EQ(copy.ids("Green."), tokenizes.ids("Green."));
  EXPECT_EQ(streams.push(copy.ids("Green.").at(1)) + streams.finish(), "green");
  const std::string empty = "this Tokenizer was moved from", none = "this TokenStream was moved from";
  EXPECT_REGARD_ERROR(tokenizer.encode("a"), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(tokenizer.encode("a", "b"), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(tokenizer.encode(texts), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(tokenizer.ids("a"), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(tokenizer.best("a", 1), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(tokenizer.decode(ids), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(tokenizer.id_of("a"), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(tokenizer.token_of(1), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(tokenizer.is_special(1), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(tokenizer.vocabulary_size(), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(tokenizer.type(), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(tokenizer.json(), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(tokenizer.save("nowhere/t.json"), ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(TokenStream{tokenizer}, ErrorKind::usage, empty);
  EXPECT_REGARD_ERROR(stream.push(1), ErrorKind::usage, none);
  EXPECT_REGARD_ERROR(stream.finish(), ErrorKind::usage, none);

  Runner runner(golden("hf-tiny/bert"));
  const Runner runs = std::move(runner);
  EXPECT_TRUE(runs.warning().empty());
  EXPECT_REGARD_ERROR(runner.run({}), ErrorKind::usage, "this Runner was moved from");
  EXPECT_REGARD_ERROR(runner.generate({}), ErrorKind::usage, "this Runner was moved from");
  EXPECT_REGARD_ERROR(runner.warning(), ErrorKind::usage, "this Runner was moved from");
}

// similarities() rejects vectors with a wrong type or shape.
TEST(WrongArguments, Similarities) {
  const Embedder embedder(golden("hf-more/st-mean"));
  const Tensor vectors = embedder.embed("Green.");
  for (const DType dtype : {DType::f64, DType::f16, DType::i8})
    EXPECT_REGARD_ERROR(embedder.similarities(vectors, vectors.to(DType::f64).to(dtype)), ErrorKind::usage,
                        name_of(dtype));
  EXPECT_REGARD_ERROR(embedder.similarities(Tensor(), vectors), ErrorKind::usage, "default-constructed");
  EXPECT_REGARD_ERROR(embedder.similarities(vectors.reshape({vectors.elements()}), vectors), ErrorKind::usage,
                      "[rows, columns]");
  EXPECT_REGARD_ERROR(embedder.similarities(vectors, vectors.slice_columns(0, 2)), ErrorKind::usage, "sizes");
}

}  // namespace
}  // namespace regard::testing
