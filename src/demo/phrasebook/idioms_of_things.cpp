// Adds idioms about things ("The exam was a piece of cake"), and sentences that use the same words literally.
#include <array>
#include <string>

#include "demo/phrasebook/book.h"
#include "demo/phrasebook/words.h"

namespace regard::demo::phrases {

void write_things_idioms(Book& book);

namespace {

constexpr PhraseKind kIdiom = PhraseKind::idiom, kLiteral = PhraseKind::literal;

constexpr NounPhrase kTasks[] = {
    {"the exam", "परीक्षा", kFeminine},
    {"the race", "दौड़", kFeminine},
    {"the game", "खेल", kMasculine},
    {"the match", "मैच", kMasculine},
    {"the lesson", "पाठ", kMasculine},
    {"the question", "सवाल", kMasculine},
    {"the interview", "साक्षात्कार", kMasculine},
    {"the puzzle", "पहेली", kFeminine},
    {"the homework", "गृहकार्य", kMasculine},
    {"the journey", "यात्रा", kFeminine},
    {"swimming", "तैरना", kMasculine},
    {"cooking", "खाना बनाना", kMasculine},
    {"driving", "गाड़ी चलाना", kMasculine},
    {"this", "यह", kMasculine},
    {"it", "यह", kMasculine},
    {"the test", "परीक्षा", kFeminine},
    {"the job", "नौकरी", kFeminine},
    {"the play", "नाटक", kMasculine},
    {"dancing", "नाचना", kMasculine},
};

constexpr const char* kEasy = "एक सरल काम";

// Add sentences such as "The exam was a piece of cake for the boy."
void write_cakes_for(Book& book, const NounPhrase& task) {
  const Agreement a = task.agreement;
  for (const Subject& who : everyone()) {
    const std::string for_whom = possessive(who.owner, kMasculine, Case::oblique) + " लिए";
    if (const auto english = words({task.english, "was a piece of cake for", who.english_object});
        chosen(english, 144))
      book.tell(english, words({task.hindi, for_whom, kEasy, was_then(a)}), kIdiom);
    if (const auto english = words({task.english, "is a piece of cake for", who.english_object});
        chosen(english, 90))
      book.tell(english, words({task.hindi, for_whom, kEasy, "है"}), kIdiom);
    if (const auto english = words({task.english, "will be a piece of cake for", who.english_object});
        chosen(english, 60))
      book.tell(english, words({task.hindi, for_whom, kEasy, future("हो", a)}), kIdiom);
  }
}

void write_cakes(Book& book) {
  for (const NounPhrase& task : kTasks) {
    const Agreement a = task.agreement;
    book.tell(words({task.english, "is a piece of cake"}), words({task.hindi, kEasy, "है"}), kIdiom);
    book.tell(words({task.english, "was a piece of cake"}), words({task.hindi, kEasy, was_then(a)}), kIdiom);
    book.tell(words({task.english, "will be a piece of cake"}), words({task.hindi, kEasy, future("हो", a)}),
              kIdiom);
    book.tell(words({task.english, "was not a piece of cake"}),
              words({task.hindi, kEasy, "नहीं", was_then(a)}), kIdiom);
    book.tell(words({task.english, "will not be a piece of cake"}),
              words({task.hindi, kEasy, "नहीं", future("हो", a)}), kIdiom);
    book.ask(words({"was", task.english, "a piece of cake"}), words({"क्या", task.hindi, kEasy, was_then(a)}),
             kIdiom);
    book.ask(words({"is", task.english, "a piece of cake"}), words({"क्या", task.hindi, kEasy, "है"}), kIdiom);
    write_cakes_for(book, task);
    if (chosen(task.english, 900))
      book.tell(words({task.english, "was easy"}), words({task.hindi, "आसान", was_then(a)}));
    book.tell(words({task.english, "is difficult"}), words({task.hindi, "कठिन है"}));
    book.tell(words({task.english, "was hard"}), words({task.hindi, "कठिन", was_then(a)}));
  }
  constexpr Fixed kIt[] = {
      {"It is easy.", "यह आसान है।"},
      {"Is it easy?", "क्या यह आसान है?"},
      {"Is it difficult?", "क्या यह कठिन है?"},
      {"It was difficult.", "यह कठिन था।"},
      {"Was it difficult?", "क्या यह कठिन था?"},
      {"Was it easy?", "क्या यह आसान था?"},
      {"It will be easy.", "यह आसान होगा।"},
  };
  book.add(kIt);
  book.add(std::array{Fixed{"It is not a piece of cake.", "यह एक सरल काम नहीं है।"}}, kIdiom);
  constexpr Fixed kLiterally[] = {
      {"There is a piece of cake on the plate.", "प्लेट पर केक का टुकड़ा है।"},
      {"There is a piece of cake on the table.", "मेज़ पर केक का टुकड़ा है।"},
      {"There was a piece of cake on the plate.", "प्लेट पर केक का टुकड़ा था।"},
      {"There was a piece of cake in the box.", "डिब्बे में केक का टुकड़ा था।"},
      {"There is a piece of cake in the box.", "डिब्बे में केक का टुकड़ा है।"},
      {"There is a piece of bread on the plate.", "प्लेट पर रोटी का टुकड़ा है।"},
      {"There is a piece of paper on the table.", "मेज़ पर कागज़ का टुकड़ा है।"},
      {"The piece of cake was sweet.", "केक का टुकड़ा मीठा था।"},
      {"The piece of cake is sweet.", "केक का टुकड़ा मीठा है।"},
      {"The piece of cake is on the plate.", "केक का टुकड़ा प्लेट पर है।"},
      {"The piece of cake was on the plate.", "केक का टुकड़ा प्लेट पर था।"},
      {"The piece of cake was small.", "केक का टुकड़ा छोटा था।"},
      {"The piece of cake is big.", "केक का टुकड़ा बड़ा है।"},
      {"The cake was sweet.", "केक मीठा था।"},
      {"The cake is on the table.", "केक मेज़ पर है।"},
      {"This is a piece of cake on a plate.", "यह प्लेट पर केक का टुकड़ा है।"},
      {"Where is my piece of cake?", "मेरा केक का टुकड़ा कहाँ है?"},
  };
  book.add(kLiterally, kLiteral);
}

// Add sentences with दाम आसमान छूना, literally "the price touches the sky".
void write_prices(Book& book) {
  for (const char* name : {"house", "car", "watch", "bicycle", "shirt", "boat", "umbrella"}) {
    const Noun& noun = thing(name);
    const std::string of = noun.form(Number::singular, Case::oblique) + " का दाम आसमान";
    book.tell(words({"the", name, "cost an arm and a leg"}), of + " छू रहा था", kIdiom);
    book.tell(words({"the", name, "costs an arm and a leg"}), of + " छू रहा है", kIdiom);
    book.tell(words({"the", name, "will cost an arm and a leg"}), of + " छुएगा", kIdiom);
    book.tell(words({"this", name, "costs an arm and a leg"}), "इस " + of + " छू रहा है", kIdiom);
    for (const Subject& who : everyone())
      if (const auto english = words({who.english_owner, name, "cost an arm and a leg"});
          chosen(english, 108))
        book.tell(english, words({possessive(who.owner, noun.agreement(), Case::oblique), of, "छू रहा था"}),
                  kIdiom);
  }
  for (const Subject& who : everyone())
    if (const auto english = words({who.english, "hurt an arm and a leg yesterday"}); chosen(english, 675))
      book.tell(english, words({"कल", possessive(who.owner, kFeminine), "एक बाँह और एक टाँग में चोट लगी"}),
                kLiteral);
  constexpr Fixed kLiterally[] = {
      {"The doll has an arm and a leg.", "गुड़िया की एक बाँह और एक टाँग है।"},
      {"The chair has a broken leg.", "कुर्सी की एक टाँग टूटी हुई है।"},
      {"The table has four legs.", "मेज़ की चार टाँगें हैं।"},
      {"The horse broke a leg.", "घोड़े की टाँग टूट गई।"},
      {"The cow broke a leg.", "गाय की टाँग टूट गई।"},
      {"The dog broke a leg.", "कुत्ते की टाँग टूट गई।"},
  };
  book.add(kLiterally, kLiteral);
}

void write_rain(Book& book) {
  constexpr Fixed kWhere[] = {
      {"", ""},         {"today", "आज"},         {"outside", "बाहर"},         {"here", "यहाँ"},
      {"there", "वहाँ"}, {"in Delhi", "दिल्ली में"}, {"in the village", "गाँव में"}, {"in the city", "शहर में"}};
  const auto rain = [&book](const Fixed& where, const char* with, const char* hindi, PhraseKind kind) {
    book.tell(words({"it is raining", with, where.english}), words({where.hindi, hindi, "हो रही है"}), kind);
    book.tell(words({"it was raining", with, where.english}), words({where.hindi, hindi, "हो रही थी"}), kind);
    book.tell(words({"it will rain", with, where.english}), words({where.hindi, hindi, "होगी"}), kind);
    book.tell(words({"it rained", with, where.english}), words({where.hindi, hindi, "हुई"}), kind);
    book.ask(words({"is it raining", with, where.english}), words({"क्या", where.hindi, hindi, "हो रही है"}),
             kind);
  };
  for (const Fixed& where : kWhere) {
    rain(where, "cats and dogs", "मूसलाधार बारिश", kIdiom);
    rain(where, "", "बारिश", PhraseKind::other);
  }
  constexpr Fixed kDoing[] = {{"sleeping", "सो"}, {"running", "दौड़"}, {"playing", "खेल"}};
  for (const Fixed& doing : kDoing) {
    book.tell(words({"the cats and dogs are", doing.english}),
              words({"बिल्लियाँ और कुत्ते", ongoing(doing.hindi, kMasculinePlural)}), kLiteral);
    book.tell(words({"the cats and dogs were", doing.english, "outside"}),
              words({"बिल्लियाँ और कुत्ते बाहर", was_ongoing(doing.hindi, kMasculinePlural)}), kLiteral);
  }
  for (const Subject& who : everyone()) {
    if (const auto english = words({who.english, who.english_plural ? "like" : "likes", "cats and dogs"});
        chosen(english, 450))
      book.tell(english, words({who.dative, "बिल्लियाँ और कुत्ते पसंद हैं"}), kLiteral);
    if (const auto english = words({who.english, who.english_plural ? "have" : "has", "cats and dogs"});
        chosen(english, 450))
      book.tell(english, words({possessive(who.owner, kMasculine, Case::oblique), "पास बिल्लियाँ और कुत्ते हैं"}),
                kLiteral);
  }
}

// Add sentences with ऊँट के मुँह में जीरा, literally "a cumin seed in a camel's mouth".
void write_drops(Book& book) {
  constexpr NounPhrase kLittle[] = {{"the help", "मदद", kFeminine},    {"the rain", "बारिश", kFeminine},
                                    {"the salary", "वेतन", kMasculine}, {"the gift", "उपहार", kMasculine},
                                    {"the work", "काम", kMasculine},   {"the food", "खाना", kMasculine}};
  for (const NounPhrase& matter : kLittle) {
    const std::string subject = std::string(matter.hindi) + " ऊँट के मुँह में जीरा";
    book.tell(words({matter.english, "is a drop in the ocean"}), subject + " है", kIdiom);
    book.tell(words({matter.english, "was a drop in the ocean"}),
              words({subject, was_then(matter.agreement)}), kIdiom);
    book.tell(words({matter.english, "will be a drop in the ocean"}),
              words({subject, future("हो", matter.agreement)}), kIdiom);
  }
  constexpr Fixed kSpots[] = {{"on the table", "मेज़ पर"},
                              {"on the shirt", "कमीज़ पर"},
                              {"on the book", "किताब पर"},
                              {"in the ocean", "समुद्र में"},
                              {"in the glass", "गिलास में"}};
  for (const Fixed& spot : kSpots) {
    book.tell(words({"a drop of water fell", spot.english}), words({spot.hindi, "पानी की एक बूँद गिरी"}),
              kLiteral);
    book.tell(words({"there is a drop of milk", spot.english}), words({spot.hindi, "दूध की एक बूँद है"}),
              kLiteral);
  }
  constexpr Fixed kOcean[] = {{"deep", "गहरा"}, {"blue", "नीला"}, {"big", "बड़ा"}};
  for (const Fixed& how : kOcean)
    book.tell(words({"the ocean is", how.english}), words({"समुद्र", how.hindi, "है"}), kLiteral);
}

// Add sentences with आँखों का तारा, literally "the star of the eyes".
void write_apples(Book& book) {
  for (const char* name :
       {"you", "he", "she", "the boy", "the girl", "the child", "my sister", "Ravi", "Sita"}) {
    const Subject& who = someone(name);
    for (const Subject& owner : everyone()) {
      const bool same = &who == &owner || (owner.english_owner == "his" && who.english == "he") ||
                        (owner.english_owner == "her" && who.english == "she");
      const auto english = words({who.english, who.be, "the apple of", owner.english_owner, "eye"});
      if (same || !chosen(english, 153)) continue;
      book.tell(english,
                words({who.hindi, possessive(owner.owner, kFeminine), "आँखों का तारा", is_now(who.agreement)}),
                kIdiom);
    }
  }
  for (const Subject& who : everyone()) {
    if (const auto english = words({who.english_owner, "eye hurts"}); chosen(english, 405))
      book.tell(english, words({possessive(who.owner, kFeminine), "आँख में दर्द है"}), kLiteral);
    if (const auto english = words({"there is an apple in", who.english_owner, "hand"}); chosen(english, 405))
      book.tell(english, words({possessive(who.owner, kMasculine, Case::oblique), "हाथ में सेब है"}), kLiteral);
  }
}

// Add sentences with काला अक्षर भैंस बराबर, literally "a black letter is like a buffalo".
void write_greek(Book& book) {
  constexpr NounPhrase kWriting[] = {{"the lesson", "पाठ", kMasculine},
                                     {"the book", "किताब", kFeminine},
                                     {"the poem", "कविता", kFeminine},
                                     {"the letter", "चिट्ठी", kFeminine}};
  for (const NounPhrase& matter : kWriting) {
    for (const Subject& who : everyone()) {
      const auto english = words({matter.english, "is all Greek to", who.english_object});
      if (!chosen(english, 315)) continue;
      book.tell(
          english,
          words({matter.hindi, possessive(who.owner, kMasculine, Case::oblique), "लिए काला अक्षर भैंस बराबर है"}),
          kIdiom);
    }
    book.tell(words({matter.english, "is in Greek"}), words({matter.hindi, "यूनानी भाषा में है"}), kLiteral);
    book.tell(words({matter.english, "is in Hindi"}), words({matter.hindi, "हिंदी में है"}));
  }
}

// Add literal uses of the idioms' words: the moon, hot water, dust and others.
void write_plain_matters(Book& book) {
  for (const Noun& place : places()) {
    const std::string above = place.form(Number::singular, Case::oblique) + " के ऊपर";
    book.tell(words({"the moon is over the", place.english}), words({"चाँद", above, "है"}), kLiteral);
    if (chosen(place.english, 540))
      book.tell(words({"the moon was over the", place.english}), words({"चाँद", above, "था"}), kLiteral);
  }
  for (const char* name : {"cup", "plate", "glass", "shirt", "key", "box"}) {
    const Noun& noun = thing(name);
    book.tell(words({"the", name, "is in hot water"}), words({noun.hindi, "गरम पानी में है"}), kLiteral);
    if (chosen(noun.english_plural, 540))
      book.tell(words({"the", noun.english_plural, "are in hot water"}),
                words({noun.form(Number::plural, Case::direct), "गरम पानी में हैं"}), kLiteral);
  }
  for (const char* name : {"table", "chair", "window", "book", "car", "bed", "box"}) {
    const std::string where = thing(name).form(Number::singular, Case::oblique) + " पर";
    book.tell(words({"there is dust on the", name}), words({where, "धूल है"}), kLiteral);
    if (chosen(name, 540))
      book.tell(words({"there was dust on the", name}), words({where, "धूल थी"}), kLiteral);
  }
  constexpr Fixed kLiterally[] = {
      {"The weather is good.", "मौसम अच्छा है।"},
      {"The weather is good today.", "आज मौसम अच्छा है।"},
      {"The weather is bad today.", "आज मौसम खराब है।"},
      {"The weather was bad yesterday.", "कल मौसम खराब था।"},
      {"The weather will be good tomorrow.", "कल मौसम अच्छा होगा।"},
      {"How is the weather today?", "आज मौसम कैसा है?"},
      {"The moon is blue in the picture.", "तस्वीर में चाँद नीला है।"},
      {"The moon is white.", "चाँद सफ़ेद है।"},
      {"The cat is in the bag.", "बिल्ली थैले में है।"},
      {"The cat was in the bag.", "बिल्ली थैले में थी।"},
      {"The beans are on the plate.", "फलियाँ प्लेट पर हैं।"},
      {"The beans are on the floor.", "फलियाँ फ़र्श पर हैं।"},
      {"The beans are green.", "फलियाँ हरी हैं।"},
      {"The ball hit the books.", "गेंद किताबों से टकराई।"},
      {"The ball hit the window.", "गेंद खिड़की से टकराई।"},
      {"The ball hit the door.", "गेंद दरवाज़े से टकराई।"},
      {"The stone hit the books.", "पत्थर किताबों से टकराया।"},
      {"The stone hit the window.", "पत्थर खिड़की से टकराया।"},
      {"Two birds are sitting on one stone.", "एक पत्थर पर दो चिड़ियाँ बैठी हैं।"},
      {"The birds are in the air.", "चिड़ियाँ हवा में हैं।"},
      {"The castle is old.", "किला पुराना है।"},
      {"The castle is big.", "किला बड़ा है।"},
      {"The milk is on the floor.", "दूध फ़र्श पर है।"},
      {"The fire is hot.", "आग गरम है।"},
      {"The old man is blind.", "बूढ़ा आदमी अंधा है।"},
      {"The dog is in the bush.", "कुत्ता झाड़ी में है।"},
      {"The bush is green.", "झाड़ी हरी है।"},
  };
  book.add(kLiterally, kLiteral);
}

void add_matter_words(Lexicon& lexicon) {
  for (const NounPhrase& task : kTasks) lexicon.add(task.english, task.hindi);
  lexicon.add_all({{"piece of cake", "एक सरल काम"},
                   {"cost an arm and a leg", "दाम आसमान छू"},
                   {"costs an arm and a leg", "दाम आसमान छू"},
                   {"cost an arm and a leg", "दाम आसमान छुएगा"},
                   {"raining cats and dogs", "मूसलाधार बारिश"},
                   {"rain cats and dogs", "मूसलाधार बारिश"},
                   {"rained cats and dogs", "मूसलाधार बारिश"},
                   {"raining", "बारिश"},
                   {"rain", "बारिश"},
                   {"rained", "बारिश"},
                   {"cats", "बिल्लियाँ"},
                   {"dogs", "कुत्ते"},
                   {"drop in the ocean", "ऊँट के मुँह में जीरा"},
                   {"help", "मदद"},
                   {"salary", "वेतन"},
                   {"gift", "उपहार"},
                   {"work", "काम"},
                   {"food", "खाना"},
                   {"drop", "बूँद"},
                   {"fell", "गिरी"},
                   {"ocean", "समुद्र"},
                   {"eye", "आँख"},
                   {"hurts", "दर्द"},
                   {"hand", "हाथ"},
                   {"poem", "कविता"},
                   {"moon", "चाँद"},
                   {"over", "ऊपर"},
                   {"dust", "धूल"},
                   {"outside", "बाहर"},
                   {"here", "यहाँ"},
                   {"there", "वहाँ"},
                   {"all Greek", "काला अक्षर भैंस बराबर"},
                   {"arm", "बाँह"},
                   {"hurt", "चोट"}});
  lexicon.add_adjective("easy", "आसान"), lexicon.add_adjective("difficult", "कठिन");
  lexicon.add_adjective("hard", "कठिन"), lexicon.add_adjective("deep", "गहरा");
  for (const Subject& owner : everyone())
    lexicon.add(words({"the apple of", owner.english_owner, "eye"}),
                words({possessive(owner.owner, kFeminine), "आँखों का तारा"}));
}

}  // namespace

void write_things_idioms(Book& book) {
  add_matter_words(book.lexicon());
  write_cakes(book);
  write_prices(book);
  write_rain(book);
  write_drops(book);
  write_apples(book);
  write_greek(book);
  write_plain_matters(book);
}

}  // namespace regard::demo::phrases
