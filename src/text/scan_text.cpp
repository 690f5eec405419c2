#include "text/scan_text.h"

#include <vector>

namespace regard::text::scanning {

const std::uint8_t* kinds_of_most() {
  static const auto kinds = [] {
    constexpr char32_t kEnd = 0x10000;
    std::vector<std::uint8_t> of(kEnd);
    for (char32_t c = 0; c < kEnd; ++c) {
      const Kind plain = c < 0x80 ? kAsciiKinds[c] : kind_of<false>(c);
      const Kind with_marks = c < 0x80 ? kAsciiKinds[c] : kind_of<true>(c);
      of[c] =
          static_cast<std::uint8_t>(static_cast<unsigned>(with_marks) << 4 | static_cast<unsigned>(plain));
    }
    return of;
  }();
  return kinds.data();
}

}  // namespace regard::text::scanning
