// Everyday statements and questions, such as "It is good", "My brother has come", "He wants water", "What is
// in the bag?" and "The old man is tired".
#include <array>
#include <string>

#include "demo/phrasebook/book.h"
#include "demo/phrasebook/words.h"

namespace regard::demo::phrases {
namespace {

// Add sentences with one subject and one adjective, such as "It is good" and "Was this new?"
void write_quality(Book& book, const NounPhrase& what, const Adjective& how, unsigned share) {
  const std::string so = inflect(how.hindi, what.agreement), was = was_then(what.agreement);
  const std::string now = is_now(what.agreement), name = what.english;
  if (const auto english = words({name, "is", how.english}); chosen(english, share))
    book.tell(english, words({what.hindi, so, now}));
  if (const auto english = words({name, "is very", how.english}); chosen(english, share))
    book.tell(english, words({what.hindi, "बहुत", so, now}));
  if (const auto english = words({name, "is not", how.english}); chosen(english, share))
    book.tell(english, words({what.hindi, so, "नहीं", now}));
  if (const auto english = words({name, "was", how.english}); chosen(english, share))
    book.tell(english, words({what.hindi, so, was}));
  if (const auto english = words({name, "was not", how.english}); chosen(english, share))
    book.tell(english, words({what.hindi, so, "नहीं", was}));
  if (const auto english = words({name, "will be", how.english}); chosen(english, share))
    book.tell(english, words({what.hindi, so, future("हो", what.agreement)}));
  if (const auto english = words({"is", name, how.english}); chosen(english, share))
    book.ask(english, words({"क्या", what.hindi, so, now}));
  if (const auto english = words({"was", name, how.english}); chosen(english, share))
    book.ask(english, words({"क्या", what.hindi, so, was}));
}

void write_qualities(Book& book) {
  constexpr NounPhrase kIt[] = {{"it", "यह", kMasculine}, {"this", "यह", kMasculine}};
  constexpr std::array kOfIt{
      Adjective{"good", "अच्छा"},      Adjective{"new", "नया"},    Adjective{"old", "पुराना"},
      Adjective{"big", "बड़ा"},        Adjective{"small", "छोटा"}, Adjective{"beautiful", "सुंदर"},
      Adjective{"expensive", "महँगा"}, Adjective{"cheap", "सस्ता"}, Adjective{"clean", "साफ़"},
      Adjective{"true", "सच"},        Adjective{"easy", "आसान"},  Adjective{"difficult", "कठिन"}};
  for (const NounPhrase& what : kIt)
    for (const Adjective& how : kOfIt) write_quality(book, what, how, 500);
  constexpr NounPhrase kSubstances[] = {{"the tea", "चाय", kFeminine},     {"the milk", "दूध", kMasculine},
                                        {"the water", "पानी", kMasculine}, {"the food", "खाना", kMasculine},
                                        {"the bread", "रोटी", kFeminine},  {"the fire", "आग", kFeminine},
                                        {"the sun", "सूरज", kMasculine},    {"the wind", "हवा", kFeminine}};
  constexpr std::array kWarmth{Adjective{"hot", "गरम"}, Adjective{"cold", "ठंडा"}};
  for (const NounPhrase& what : kSubstances)
    for (const Adjective& how : kWarmth) write_quality(book, what, how, 450);
  constexpr NounPhrase kBroad[] = {{"the river bank", "नदी का किनारा", kMasculine},
                                   {"the ocean", "समुद्र", kMasculine},
                                   {"the money bank", "पैसों का बैंक", kMasculine},
                                   {"the bank", "बैंक", kMasculine},
                                   {"the river", "नदी", kFeminine}};
  constexpr std::array kBreadth{Adjective{"big", "बड़ा"}, Adjective{"beautiful", "सुंदर"},
                                Adjective{"long", "लंबा"}, Adjective{"old", "पुराना"},
                                Adjective{"clean", "साफ़"}};
  for (const NounPhrase& what : kBroad)
    for (const Adjective& how : kBreadth) write_quality(book, what, how, 350);
}

// Add sentences such as "My brother has come" (मेरा भाई आ गया है). A feminine participle has no plural form,
// so only है shows the number.
void write_arrivals(Book& book) {
  struct Way {
    const char* english;
    const char* where;
    bool comes;
  };
  constexpr std::array kWays{Way{"come", "", true},
                             Way{"come home", "घर", true},
                             Way{"gone", "", false},
                             Way{"gone to school", "स्कूल", false},
                             Way{"gone to the market", "बाज़ार", false},
                             Way{"gone to the bank", "बैंक", false}};
  const auto write = [&book](const std::string& english, const std::string& hindi, const Way& way,
                             Agreement a) {
    Agreement participle = a;
    if (a.feminine()) participle.number = Number::singular;
    book.tell(words({english, way.english}),
              words({hindi, way.where, way.comes ? "आ" : inflect("चला", participle),
                     perfective("जा", participle), is_now(a)}));
  };
  for (const Subject& who : everyone())
    for (const Way& way : kWays)
      if (chosen(who.english + way.english, 400))
        write(words({who.english, who.english_plural ? "have" : "has"}), who.hindi, way, who.agreement);
  constexpr NounPhrase kComing[] = {{"the bus", "बस", kFeminine},
                                    {"the train", "रेलगाड़ी", kFeminine},
                                    {"the boat", "नाव", kFeminine},
                                    {"the car", "गाड़ी", kFeminine}};
  for (const NounPhrase& what : kComing)
    for (const Way& way : {kWays[0], kWays[2]})
      write(words({what.english, "has"}), what.hindi, way, what.agreement);
}

// Add sentences such as "He wants water" (उसे पानी चाहिए).
void write_wants(Book& book) {
  constexpr Fixed kWanted[] = {{"tea", "चाय"},
                               {"milk", "दूध"},
                               {"water", "पानी"},
                               {"bread", "रोटी"},
                               {"an apple", "सेब"},
                               {"a ticket", "टिकट"},
                               {"money", "पैसे"},
                               {"medicine", "दवा"},
                               {"a piece of bread", "रोटी का टुकड़ा"},
                               {"a new book", "नई किताब"}};
  for (const Subject& who : everyone()) {
    const bool plural = who.english_plural;
    for (const Fixed& what : kWanted) {
      if (const auto english = words({who.english, plural ? "want" : "wants", what.english});
          chosen(english, 300))
        book.tell(english, words({who.dative, what.hindi, "चाहिए"}));
      if (const auto english = words({who.english, plural ? "do not want" : "does not want", what.english});
          chosen(english, 80))
        book.tell(english, words({who.dative, what.hindi, "नहीं चाहिए"}));
      if (const auto english = words({plural ? "do" : "does", who.english, "want", what.english});
          chosen(english, 80))
        book.ask(english, words({"क्या", who.dative, what.hindi, "चाहिए"}));
    }
  }
}

// Add questions such as "What is in the bag?", "Who is in the house?" and "What was under the table?"
void write_contents(Book& book) {
  const auto ask = [&book](const char* what, const char* hindi, const char* preposition, const char* name,
                           const char* postposition) {
    const std::string where = words({thing(name).form(Number::singular, Case::oblique), postposition, hindi});
    book.ask(words({what, "is", preposition, "the", name}), words({where, "है"}));
    book.ask(words({what, "was", preposition, "the", name}), words({where, "था"}));
  };
  for (const char* name : {"bag", "box", "room", "glass", "cup", "boat", "car", "garden"})
    ask("what", "क्या", "in", name, "में");
  for (const char* name : {"table", "chair", "bed", "plate"}) ask("what", "क्या", "on", name, "पर");
  for (const char* name : {"table", "chair", "bed", "tree"}) ask("what", "क्या", "under", name, "के नीचे");
  for (const char* name : {"house", "room", "shop", "school", "garden", "car", "boat", "field"})
    ask("who", "कौन", "in", name, "में");
}

void write_sitting(Book& book) {
  constexpr Fixed kSeats[] = {{"on the chair", "कुर्सी पर"},     {"on the floor", "फ़र्श पर"},
                              {"under the tree", "पेड़ के नीचे"},  {"in the garden", "बगीचे में"},
                              {"near the river", "नदी के पास"}, {"in the boat", "नाव में"}};
  for (const Subject& who : everyone()) {
    for (const Fixed& seat : kSeats) {
      if (const auto english = words({who.english, "sat", seat.english}); chosen(english, 220))
        book.tell(english, words({who.hindi, seat.hindi, perfective("बैठ", who.agreement)}));
      if (const auto english = words({who.english, "will sit", seat.english}); chosen(english, 80))
        book.tell(english, words({who.hindi, seat.hindi, future("बैठ", who.agreement)}));
    }
  }
  for (const char* name : {"boat", "horse", "cow", "dog", "cat", "car", "house"}) {
    const std::string subject = thing(name).hindi;
    book.tell(words({"the", name, "is on the river bank"}), words({subject, "नदी के किनारे है"}));
    if (chosen(name, 600))
      book.tell(words({"the", name, "is near the river"}), words({subject, "नदी के पास है"}));
  }
}

// Add sentences such as "The old man is tired" and "Sita helped the blind man".
void write_men(Book& book) {
  constexpr std::array kKinds{Adjective{"old", "बूढ़ा"}, Adjective{"blind", "अंधा"}, Adjective{"poor", "गरीब"},
                              Adjective{"rich", "अमीर"}, Adjective{"tall", "लंबा"}};
  constexpr std::array kFeeling{Adjective{"tired", "थका हुआ"}, Adjective{"happy", "खुश"},
                                Adjective{"ill", "बीमार"}, Adjective{"alone", "अकेला"},
                                Adjective{"angry", "नाराज़"}};
  for (const Adjective& kind : kKinds) {
    const std::string name = words({"the", kind.english, "man"});
    const std::string man = words({inflect(kind.hindi, kMasculine, Case::oblique), "आदमी"});
    for (const Adjective& how : kFeeling)
      if (const auto english = words({name, "is", how.english}); chosen(english, 500))
        book.tell(english, words({kind.hindi, "आदमी", how.hindi, "है"}));
    for (const Subject& who : everyone()) {
      if (who.english == "the man") continue;
      if (const auto english = words({who.english, "helped", name}); chosen(english, 200))
        book.tell(english, words({who.ergative, man, "की मदद की"}));
      if (const auto english = words({who.english, "will help", name}); chosen(english, 100))
        book.tell(english, words({who.hindi, man, "की मदद", future("कर", who.agreement)}));
      if (const auto english = words({who.english, "saw", name}); chosen(english, 100))
        book.tell(english, words({who.ergative, man, "को देखा"}));
    }
  }
}

}  // namespace

void write_everyday(Book& book) {
  write_qualities(book);
  write_arrivals(book);
  write_wants(book);
  write_contents(book);
  write_sitting(book);
  write_men(book);
}

}  // namespace regard::demo::phrases
