// Pictures as SVG, written by hand: no library, no network, fonts of the reader's machine. Colours follow the
// reader's light or dark scheme.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "inspect/attention_view.h"

namespace regard::inspect {

// An SVG document while it grows. Coordinates and sizes are in CSS pixels. Text is escaped here.
class SvgWriter {
 public:
  // What a piece looks like is a class of the document's style: "label", "quiet", "title", "cell", "line".
  void rectangle(double x, double y, double width, double height, std::string_view style, double opacity,
                 std::string_view tooltip = {});
  enum class Anchor { start, middle, end };
  void text(double x, double y, std::string_view words, std::string_view style, Anchor anchor = Anchor::start,
            double rotation = 0);  // degrees around (x, y)
  // A curve that leaves and arrives horizontally.
  void curve(double x0, double y0, double x1, double y1, double thickness, double opacity);

  // The document, `title` for those who hear it read.
  std::string document(double width, double height, std::string_view title) const;

 private:
  std::string body_;
};

std::string escaped(std::string_view text);  // for XML and HTML, in text and in quoted attributes

// The maps below one another, each as a heat map with lines between the tokens beside it. Cells show percent;
// a tooltip has the number.
std::string to_svg(const View& view);

}  // namespace regard::inspect
