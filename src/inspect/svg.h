// Attention maps as SVG, without libraries or external resources. The SVG uses the fonts of the viewer's
// system and the viewer's light or dark colour scheme.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "inspect/attention_view.h"

namespace regard::inspect {

// Builder of an SVG document. Coordinates and sizes are in CSS pixels. Text arguments are escaped.
class SvgWriter {
 public:
  // Draw a rectangle. `style` is a class of the document's style sheet: "label", "quiet", "title", "cell",
  // "line".
  void rectangle(double x, double y, double width, double height, std::string_view style, double opacity,
                 std::string_view tooltip = {});
  enum class Anchor { start, middle, end };
  void text(double x, double y, std::string_view words, std::string_view style, Anchor anchor = Anchor::start,
            double rotation = 0);  // rotation in degrees around (x, y)
  // Draw a curve that is horizontal at both ends.
  void curve(double x0, double y0, double x1, double y1, double thickness, double opacity);

  // Return the complete document. `title` is for screen readers.
  std::string document(double width, double height, std::string_view title) const;

 private:
  std::string body_;
};

// text escaped for XML and HTML content and for double-quoted attributes
std::string escaped(std::string_view text);

// Draw the maps from top to bottom, each as a heat map with a diagram of lines between tokens beside it.
// Cells show percent; tooltips show the exact weight.
std::string to_svg(const View& view);

}  // namespace regard::inspect
