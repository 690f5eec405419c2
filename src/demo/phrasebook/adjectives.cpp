#include <array>

#include "demo/phrasebook/words.h"

namespace regard::demo::phrases {
namespace {

// Sorted so that the adjectives for each kind of noun are consecutive.
constexpr std::array kOfThings{
    Adjective{"clean", "साफ़"},  Adjective{"dirty", "गंदा"},     Adjective{"big", "बड़ा"},
    Adjective{"small", "छोटा"}, Adjective{"beautiful", "सुंदर"}, Adjective{"good", "अच्छा"},
    Adjective{"old", "पुराना"},  Adjective{"new", "नया"},       Adjective{"red", "लाल"},
    Adjective{"blue", "नीला"},  Adjective{"green", "हरा"},     Adjective{"yellow", "पीला"},
    Adjective{"black", "काला"}, Adjective{"white", "सफ़ेद"},     Adjective{"expensive", "महँगा"},
    Adjective{"cheap", "सस्ता"},
};

constexpr std::array kOfPeople{
    Adjective{"tall", "लंबा"},    Adjective{"good", "अच्छा"},    Adjective{"happy", "खुश"},
    Adjective{"sad", "उदास"},    Adjective{"tired", "थका हुआ"}, Adjective{"busy", "व्यस्त"},
    Adjective{"angry", "नाराज़"}, Adjective{"ill", "बीमार"},    Adjective{"ready", "तैयार"},
    Adjective{"brave", "बहादुर"}, Adjective{"alone", "अकेला"},   Adjective{"clever", "होशियार"},
    Adjective{"thin", "पतला"},   Adjective{"lazy", "आलसी"},
};

}  // namespace

std::span<const Adjective> adjectives_of_goods() {
  return kOfThings;
}
std::span<const Adjective> adjectives_of_places() {
  return std::span<const Adjective>(kOfThings).first(8);
}
std::span<const Adjective> adjectives_of_nature() {
  return std::span<const Adjective>(kOfThings).subspan(2, 4);
}
std::span<const Adjective> adjectives_of_works() {
  return std::span<const Adjective>(kOfThings).subspan(4, 4);
}
std::span<const Adjective> adjectives_of_people() {
  return kOfPeople;
}

}  // namespace regard::demo::phrases
