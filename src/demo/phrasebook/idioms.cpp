// Adds idioms about people, and sentences that use the same words literally.
#include <array>
#include <string>

#include "demo/phrasebook/book.h"
#include "demo/phrasebook/words.h"

namespace regard::demo::phrases {

void write_things_idioms(Book& book);  // defined in idioms_of_things.cpp

namespace {

constexpr PhraseKind kIdiom = PhraseKind::idiom, kLiteral = PhraseKind::literal;
constexpr Object none = Object::none, m = Object::masculine, f = Object::feminine,
                 mp = Object::masculine_plural, fp = Object::feminine_plural;

struct Saying {
  Action action;
  PhraseKind kind;
  bool continuous;  // also add the continuous form, such as "is spilling the beans"
  const char* light = "";  // दे, ले, जा: light verb of the affirmative past and future, omitted in negation
};
constexpr std::array kSayings{
    Saying{{"spill", "spills", "spilled", "spilling", "the beans", "राज़", "खोल", m}, kIdiom, true, "दे"},
    Saying{{"spill", "spills", "spilled", "spilling", "the beans on the floor", "फ़र्श पर फलियाँ", "गिरा", fp},
           kLiteral,
           false,
           "दे"},
    Saying{{"cook", "cooks", "cooked", "cooking", "the beans", "फलियाँ", "पका", fp}, kLiteral, true},
    Saying{{"hit", "hits", "hit", "hitting", "the books", "पढ़ाई में", "जुट", none}, kIdiom, false, "जा"},
    Saying{{"sell", "sells", "sold", "selling", "the books", "किताबें", "बेच", fp}, kLiteral, true},
    Saying{{"hit", "hits", "hit", "hitting", "the ball", "गेंद को", "मार", m}, kLiteral, true},
    Saying{{"let", "lets", "let", "letting", "the cat out of the bag", "भेद", "खोल", m}, kIdiom, false, "दे"},
    Saying{{"take", "takes", "took", "taking", "the cat out of the box", "बिल्ली को डिब्बे से", "निकाल", m},
           kLiteral,
           true},
    Saying{{"take", "takes", "took", "taking", "the book out of the bag", "थैले से किताब", "निकाल", f},
           kLiteral,
           true},
    Saying{{"kill", "kills", "killed", "killing", "two birds with one stone", "एक तीर से दो शिकार", "कर", mp},
           kIdiom,
           true},
    Saying{
        {"see", "sees", "saw", "", "two birds on the stone", "पत्थर पर दो चिड़ियाँ", "देख", fp}, kLiteral, false},
    Saying{{"turn", "turns", "turned", "turning", "a blind eye", "आँखें", "मूँद", fp}, kIdiom, false, "ले"},
    Saying{{"help", "helps", "helped", "helping", "the blind man", "अंधे आदमी की", "कर", f, "मदद"},
           kLiteral,
           true},
    Saying{{"add", "adds", "added", "adding", "fuel to the fire", "आग में घी", "डाल", m}, kIdiom, true},
    Saying{{"add", "adds", "added", "adding", "wood to the fire", "आग में लकड़ी", "डाल", f}, kLiteral, true},
    Saying{
        {"build", "builds", "built", "building", "castles in the air", "हवाई किले", "बना", mp}, kIdiom, true},
    Saying{{"build", "builds", "built", "building", "castles in the sand", "रेत में किले", "बना", mp},
           kLiteral,
           true},
    Saying{{"keep", "keeps", "kept", "keeping", "an eye on the shop", "दुकान पर नज़र", "रख", f}, kIdiom, true},
    Saying{
        {"keep", "keeps", "kept", "keeping", "an eye on the children", "बच्चों पर नज़र", "रख", f}, kIdiom, true},
    Saying{
        {"keep", "keeps", "kept", "keeping", "a book on the table", "मेज़ पर किताब", "रख", f}, kLiteral, true},
    Saying{{"beat", "beats", "beat", "beating", "around the bush", "बात", "घुमा", f}, kIdiom, true},
    Saying{
        {"run", "runs", "ran", "running", "around the bush", "झाड़ी के चारों ओर", "दौड़", none}, kLiteral, true},
    Saying{{"bite", "bites", "bit", "biting", "the dust", "धूल", "चाट", f}, kIdiom, false},
    Saying{{"bite", "bites", "bit", "biting", "the apple", "सेब", "काट", m}, kLiteral, true},
    Saying{{"cry", "cries", "cried", "crying", "over spilled milk", "बीती बात पर", "रो", none}, kIdiom, true},
    Saying{{"drink", "drinks", "drank", "drinking", "the milk", "दूध", "पी", m}, kLiteral, true},
    Saying{{"spill", "spills", "spilled", "spilling", "the milk", "दूध", "गिरा", m}, kLiteral, true, "दे"},
    Saying{{"eat", "eats", "ate", "eating", "a piece of cake", "केक का टुकड़ा", "खा", m}, kLiteral, true},
    Saying{{"eat", "eats", "ate", "eating", "a piece of bread", "रोटी का टुकड़ा", "खा", m}, kLiteral, true},
    Saying{{"cut", "cuts", "cut", "cutting", "a piece of cake", "केक का टुकड़ा", "काट", m}, kLiteral, true},
    Saying{{"buy", "buys", "bought", "buying", "a piece of cake", "केक का टुकड़ा", "खरीद", m}, kLiteral, true},
    Saying{{"put", "puts", "put", "putting", "a piece of cake on the plate", "प्लेट पर केक का टुकड़ा", "रख", m},
           kLiteral,
           true},
    Saying{{"draw", "draws", "drew", "drawing", "a blue moon", "नीला चाँद", "बना", m}, kLiteral, true},
    Saying{{"wash", "washes", "washed", "washing", "the clothes in hot water", "गरम पानी में कपड़े", "धो", mp},
           kLiteral,
           true},
    Saying{{"break", "breaks", "broke", "breaking", "a leg of the chair", "कुर्सी की टाँग", "तोड़", f},
           kLiteral,
           true,
           "दे"},
    Saying{{"learn", "learns", "learned", "learning", "Greek", "यूनानी भाषा", "सीख", f}, kLiteral, true},
};

void say(Book& book, const Saying& saying, const Subject& who) {
  const Action& what = saying.action;
  const bool ergative = what.object != none;
  const Agreement done_agreement = ergative ? agreement_of(what.object) : who.agreement;
  const std::string whole = words({what.stem, saying.light});
  const std::string verb = perfective(what.stem, done_agreement), done = perfective(whole, done_agreement);
  const std::string& subject = ergative ? who.ergative : who.hindi;
  const unsigned extra = saying.kind == kIdiom ? 135 : 0;
  const bool ambiguous = who.english_plural && std::string_view(what.base) == what.past;
  if (const auto english = words({who.english, what.past, what.english_rest});
      !ambiguous && chosen(english, 177 + extra))
    book.tell(english, words({subject, what.hindi_rest, what.noun, done}), saying.kind);
  if (const auto english = words({who.english, "did not", what.base, what.english_rest});
      chosen(english, 45 + extra))
    book.tell(english, words({subject, what.hindi_rest, what.noun, "नहीं", verb}), saying.kind);
  if (const auto english = words({who.english, "will", what.base, what.english_rest});
      chosen(english, 72 + extra))
    book.tell(english, words({who.hindi, what.hindi_rest, what.noun, future(whole, who.agreement)}),
              saying.kind);
  if (const auto english = words({who.english, who.be, what.continuous, what.english_rest});
      saying.continuous && chosen(english, 72 + extra))
    book.tell(english, words({who.hindi, what.hindi_rest, what.noun, ongoing(what.stem, who.agreement)}),
              saying.kind);
  const Agreement object = agreement_of(what.object);
  if (const auto english = words({who.english, "should not", what.base, what.english_rest});
      chosen(english, extra))
    book.tell(english,
              words({who.dative, what.hindi_rest, what.noun, "नहीं", infinitive(what.stem, object), "चाहिए"}),
              saying.kind);
}

void write_sayings(Book& book) {
  for (const Saying& saying : kSayings) {
    const Action& what = saying.action;
    for (const Subject& who : everyone())
      if (std::string_view(what.english_rest).find(who.english) == std::string_view::npos)
        say(book, saying, who);
    book.tell(words({"do not", what.base, what.english_rest}),
              words({what.hindi_rest, what.noun, "मत", familiar_command(what.stem)}), saying.kind);
  }
}

// Add idioms for a person's state ("I am under the weather", मेरी तबीयत ठीक नहीं है) and literal uses.
void write_states(Book& book) {
  const Agreement health = kFeminine;
  for (const Subject& who : everyone()) {
    const Agreement a = who.agreement;
    const std::string now = is_now(a);
    if (const auto english = words({who.english, who.be, "under the weather"}); chosen(english, 620))
      book.tell(english, words({possessive(who.owner, health), "तबीयत ठीक नहीं है"}), kIdiom);
    if (const auto english = words({who.english, who.was, "under the weather yesterday"});
        chosen(english, 531))
      book.tell(english, words({"कल", possessive(who.owner, health), "तबीयत ठीक नहीं थी"}), kIdiom);
    if (const auto english = words({who.english, "talked about the weather"}); chosen(english, 442))
      book.tell(english, words({who.ergative, "मौसम के बारे में बात की"}), kLiteral);
    if (const auto english = words({who.english, who.be, "under the umbrella"}); chosen(english, 354))
      book.tell(english, words({who.hindi, "छाते के नीचे", now}), kLiteral);

    if (const auto english = words({who.english, who.be, "in hot water"}); chosen(english, 531))
      book.tell(english, words({who.hindi, "मुसीबत में", now}), kIdiom);
    if (const auto english = words({who.english, who.was, "in hot water"}); chosen(english, 354))
      book.tell(english, words({who.hindi, "मुसीबत में", was_then(a)}), kIdiom);

    if (const auto english = words({who.english, who.be, "over the moon"}); chosen(english, 442))
      book.tell(english, words({who.hindi, "खुशी से", inflect("फूला", a), "नहीं", ongoing("समा", a)}), kIdiom);
    if (const auto english = words({who.english, who.was, "over the moon"}); chosen(english, 442))
      book.tell(english, words({who.hindi, "खुशी से", inflect("फूला", a), "नहीं", was_ongoing("समा", a)}),
                kIdiom);

    if (const auto english = words({who.english, who.be, "hitting the books"}); chosen(english, 354))
      book.tell(english, words({who.hindi, "पढ़ाई में", inflect("जुटा हुआ", a), now}), kIdiom);
    if (const auto english = words({who.english, who.english_plural ? "have to" : "has to", "hit the books"});
        chosen(english, 442))
      book.tell(english, words({who.dative, "पढ़ाई में जुटना है"}), kIdiom);

    if (const auto english = words({"the dog bit", who.english_object}); chosen(english, 442))
      book.tell(english, words({"कुत्ते ने", who.dative, "काटा"}), kLiteral);
    if (const auto english = words({who.english, who.english_plural ? "want" : "wants", "a piece of cake"});
        chosen(english, 1000))
      book.tell(english, words({who.dative, "केक का टुकड़ा चाहिए"}), kLiteral);
    if (const auto english = words({"please give", who.english_object, "a piece of cake"});
        who.english != "you" && chosen(english, 442))
      book.tell(english, words({"कृपया", who.dative, "केक का टुकड़ा दीजिए"}), kLiteral);
  }
}

// Add sentences such as "He comes home once in a blue moon."
void write_blue_moons(Book& book) {
  constexpr std::array kRare{
      Action{"come", "comes", "came", "coming", "home", "घर", "आ"},
      Action{"go", "goes", "went", "going", "to the market", "बाज़ार", "जा"},
      Action{"eat", "eats", "ate", "eating", "sweets", "मिठाइयाँ", "खा", fp},
      Action{"watch", "watches", "watched", "watching", "a film", "फ़िल्म", "देख", f},
      Action{"write", "writes", "wrote", "writing", "a letter", "चिट्ठी", "लिख", f},
      Action{"laugh", "laughs", "laughed", "laughing", "", "", "हँस"},
      Action{"dance", "dances", "danced", "dancing", "", "", "नाच"},
      Action{"cry", "cries", "cried", "crying", "", "", "रो"},
      Action{"read", "reads", "read", "reading", "a book", "किताब", "पढ़", f},
  };
  for (const Action& what : kRare)
    for (const Subject& who : everyone())
      if (const auto english = words({who.english, who.english_plural ? what.base : what.third,
                                      what.english_rest, "once in a blue moon"});
          chosen(english, 222))
        book.tell(english,
                  words({who.hindi, "कभी-कभार ही", what.hindi_rest, habitual(what.stem, who.agreement)}),
                  kIdiom);
}

// Add sentences with "break a leg", as a wish for good luck and literally.
void write_legs(Book& book) {
  constexpr NounPhrase kEvents[] = {
      {"exam", "परीक्षा", kFeminine}, {"play", "नाटक", kMasculine},           {"race", "दौड़", kFeminine},
      {"match", "मैच", kMasculine},   {"interview", "साक्षात्कार", kMasculine}, {"dance", "नाच", kMasculine}};
  book.call("break a leg", "शुभकामनाएँ", kIdiom);
  book.call("break a leg, my friend", "शुभकामनाएँ, मेरे दोस्त", kIdiom);
  book.call("break a leg, children", "शुभकामनाएँ, बच्चो", kIdiom);
  for (const NounPhrase& event : kEvents) {
    book.call(words({"break a leg in the", event.english}), words({event.hindi, "के लिए शुभकामनाएँ"}), kIdiom);
    book.call(words({"break a leg in your", event.english}),
              words({possessive("आपका", event.agreement, Case::oblique), event.hindi, "के लिए शुभकामनाएँ"}),
              kIdiom);
  }
  for (const Subject& who : people()) {
    if (!who.english.starts_with("my"))  // with "my", Hindi requires the reflexive मैंने अपने …
      book.tell(words({"I told", who.english_object, "to break a leg"}),
                words({"मैंने", who.dative, "शुभकामनाएँ दीं"}), kIdiom);
    const Agreement leg = kFeminine;
    if (who.english_plural) continue;
    book.tell(words({who.english, "broke a leg"}), words({possessive(who.owner, leg), "टाँग टूट गई"}),
              kLiteral);
  }
}

// Add idioms to the lexicon as whole phrases, and literal uses word by word.
void add_saying_words(Lexicon& lexicon) {
  for (const Saying& saying : kSayings) {
    Action what = saying.action;
    const std::string stem = words({what.stem, saying.light});
    if (saying.kind == kLiteral) what.english_rest = what.hindi_rest = "";
    lexicon.add_action(what);
    if (*saying.light == 0) continue;
    what.stem = stem.c_str();
    lexicon.add_action(what);
  }
  lexicon.add_all({{"beans", "फलियाँ"},
                   {"floor", "फ़र्श"},
                   {"books", "किताबें"},
                   {"ball", "गेंद"},
                   {"stone", "पत्थर"},
                   {"birds", "चिड़ियाँ"},
                   {"blind", "अंधे"},
                   {"man", "आदमी"},
                   {"fire", "आग"},
                   {"wood", "लकड़ी"},
                   {"castles", "किले"},
                   {"sand", "रेत"},
                   {"around", "चारों ओर"},
                   {"bush", "झाड़ी"},
                   {"milk", "दूध"},
                   {"piece", "टुकड़ा"},
                   {"cake", "केक"},
                   {"bread", "रोटी"},
                   {"moon", "चाँद"},
                   {"blue", "नीला"},
                   {"clothes", "कपड़े"},
                   {"hot", "गरम"},
                   {"water", "पानी"},
                   {"leg", "टाँग"},
                   {"Greek", "यूनानी भाषा"},
                   {"weather", "मौसम"},
                   {"talked", "बात"},
                   {"about", "बारे"},
                   {"umbrella", "छाते"},
                   {"dog", "कुत्ते"},
                   {"bit", "काटा"},
                   {"broke", "टूट गई"},
                   {"under the weather", "तबीयत ठीक नहीं"},
                   {"in hot water", "मुसीबत में"},
                   {"hitting the books", "पढ़ाई में जुटा हुआ"},
                   {"hitting the books", "पढ़ाई में जुटी हुई"},
                   {"hitting the books", "पढ़ाई में जुटे हुए"},
                   {"hit the books", "पढ़ाई में जुटना"},
                   {"over the moon", "खुशी से फूला नहीं समा"},
                   {"over the moon", "खुशी से फूली नहीं समा"},
                   {"over the moon", "खुशी से फूले नहीं समा"},
                   {"once in a blue moon", "कभी-कभार ही"},
                   {"break a leg", "शुभकामनाएँ"},
                   {"break a leg", "शुभकामनाएँ दीं"},
                   {"want", "चाहिए"},
                   {"wants", "चाहिए"}});
}

}  // namespace

void write_idioms(Book& book) {
  add_saying_words(book.lexicon());
  write_sayings(book);
  write_states(book);
  write_blue_moons(book);
  write_legs(book);
  write_things_idioms(book);
}

}  // namespace regard::demo::phrases
