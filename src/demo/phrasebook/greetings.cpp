// Adds greetings, and sentences with names.
#include <string>

#include "demo/phrasebook/book.h"
#include "demo/phrasebook/words.h"

namespace regard::demo::phrases {
namespace {

constexpr NounPhrase kNames[] = {
    {"Ravi", "रवि", kMasculine},    {"Sita", "सीता", kFeminine},   {"Amit", "अमित", kMasculine},
    {"Rahul", "राहुल", kMasculine},  {"Priya", "प्रिया", kFeminine}, {"John", "जॉन", kMasculine},
    {"Maria", "मारिया", kFeminine}, {"Tom", "टॉम", kMasculine},    {"Sara", "सारा", kFeminine},
    {"Meena", "मीना", kFeminine},   {"Anil", "अनिल", kMasculine},  {"Geeta", "गीता", kFeminine},
    {"Ram", "राम", kMasculine},     {"Mary", "मैरी", kFeminine},    {"Ali", "अली", kMasculine},
    {"Anna", "अन्ना", kFeminine},    {"David", "डेविड", kMasculine}, {"Lata", "लता", kFeminine},
};

constexpr Fixed kGreetings[] = {
    {"Hello", "नमस्ते"},          {"Good morning", "सुप्रभात"}, {"Good evening", "शुभ संध्या"}, {"Hi", "नमस्ते"},
    {"Good night", "शुभ रात्रि"}, {"Goodbye", "अलविदा"},      {"Thank you", "धन्यवाद"},
};

void write_name(Book& book, const NounPhrase& name) {
  const std::string is = words({"नाम", name.hindi, "है"});
  const bool feminine = name.agreement.feminine();
  book.tell(words({"my name is", name.english}), "मेरा " + is);
  book.tell(words({feminine ? "her name is" : "his name is", name.english}), "उसका " + is);
  book.tell(words({"your name is", name.english}), "आपका " + is);
  book.ask(words({"is your name", name.english}), "क्या आपका " + is);
  book.tell(words({feminine ? "my sister's name is" : "my brother's name is", name.english}),
            (feminine ? "मेरी बहन का " : "मेरे भाई का ") + is);
  book.tell(words({"I am", name.english}), words({"मैं", name.hindi, "हूँ"}));
  book.tell(words({name.english, "is my friend"}),
            words({name.hindi, possessive("मेरा", name.agreement), "दोस्त है"}));
  book.ask(words({"how are you,", name.english}), words({"आप कैसे हैं,", name.hindi}));
  book.ask(words({"how are you today,", name.english}), words({"आज आप कैसे हैं,", name.hindi}));
  book.ask(words({"who are you,", name.english}), words({"आप कौन हैं,", name.hindi}));
  book.ask(words({"where are you,", name.english}), words({"आप कहाँ हैं,", name.hindi}));
  book.tell(words({"I am fine,", name.english}), words({"मैं ठीक हूँ,", name.hindi}));
  book.tell(words({"please come here,", name.english}), words({"कृपया यहाँ आइए,", name.hindi}));
  book.ask(words({"where is", name.english}), words({name.hindi, "कहाँ है"}));
  for (const Fixed& greeting : kGreetings) {
    if (const std::string english = std::string(greeting.english) + ", " + name.english; chosen(english, 450))
      book.tell(english, std::string(greeting.hindi) + ", " + name.hindi);
    if (const std::string english = words({greeting.english, name.english}); chosen(english, 250))
      book.name(english, words({greeting.hindi, name.hindi}));
  }
}

constexpr Fixed kTalk[] = {
    {"Hi.", "नमस्ते।"},
    {"Hi!", "नमस्ते!"},
    {"Hello!", "नमस्ते!"},
    {"Hi, my friend.", "नमस्ते, मेरे दोस्त।"},
    {"Hi, who are you?", "नमस्ते, आप कौन हैं?"},
    {"Good evening.", "शुभ संध्या।"},
    {"Good morning, how are you?", "सुप्रभात, आप कैसे हैं?"},
    {"Good evening, how are you?", "शुभ संध्या, आप कैसे हैं?"},
    {"Hello, my friend, how are you?", "नमस्ते, मेरे दोस्त, आप कैसे हैं?"},
    {"Hello, who are you?", "नमस्ते, आप कौन हैं?"},
    {"Hello, how is your brother?", "नमस्ते, आपका भाई कैसा है?"},
    {"Hello, where are you?", "नमस्ते, आप कहाँ हैं?"},
    {"How are you today?", "आज आप कैसे हैं?"},
    {"How are they today?", "आज वे कैसे हैं?"},
    {"We are fine, thank you.", "हम ठीक हैं, धन्यवाद।"},
    {"They are fine, thank you.", "वे ठीक हैं, धन्यवाद।"},
    {"She is fine, thank you.", "वह ठीक है, धन्यवाद।"},
    {"The children are fine, thank you.", "बच्चे ठीक हैं, धन्यवाद।"},
    {"I am happy, thank you.", "मैं खुश हूँ, धन्यवाद।"},
    {"I am ready, thank you.", "मैं तैयार हूँ, धन्यवाद।"},
    {"Yes, thank you.", "हाँ, धन्यवाद।"},
    {"No, thank you.", "नहीं, धन्यवाद।"},
    {"Yes, I am fine.", "हाँ, मैं ठीक हूँ।"},
};

}  // namespace

void write_greetings(Book& book) {
  for (const NounPhrase& name : kNames) book.lexicon().add(name.english, name.hindi);
  for (const Fixed& greeting : kGreetings) book.lexicon().add(greeting.english, greeting.hindi);
  book.lexicon().add_all(
      {{"name", "नाम"}, {"friend", "दोस्त"}, {"how", "कैसे"}, {"how", "कैसा"}, {"how", "कैसी"}, {"fine", "ठीक"}});
  for (const NounPhrase& name : kNames) write_name(book, name);
  book.add(kTalk);
}

}  // namespace regard::demo::phrases
