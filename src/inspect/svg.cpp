#include "inspect/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/plain_text.h"
#include "base/utf8.h"
#include "inspect/heat_map.h"

namespace regard::inspect {
namespace {

constexpr double kCell = 30, kLetter = 8.6, kGap = 10, kMargin = 16, kTitle = 34, kCaption = 20;
constexpr double kSlope = 55;        // rotation of column labels in degrees
constexpr double kLinesWidth = 150;  // distance between the two columns of tokens, in CSS pixels
constexpr int kLongestSvgLabel = 18;

constexpr std::string_view kStyle =
    "<style>text{font-family:system-ui,'Noto Sans','Noto Sans Devanagari','Noto Sans Arabic','Noto Color "
    "Emoji',"
    "sans-serif;font-size:14px;fill:#1b1f24}.title{font-weight:600}.quiet{fill:#59636e;font-size:12px}"
    ".number{font-size:11px}.strong{font-size:11px;fill:#fff}.cell,.scale{fill:#1f5fbf}.frame{fill:none;"
    "stroke:#"
    "d1d9e0}"
    ".line{fill:none;stroke:#1f5fbf;stroke-linecap:round}.paper{fill:#fff}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.quiet{fill:#9198a1}.strong{fill:#0d1117}"
    ".cell,.scale{fill:#6cb0ff}.line{stroke:#6cb0ff}.frame{stroke:#3d444d}.paper{fill:#0d1117}}</style>\n";

double label_width(std::span<const std::string> labels) {
  int widest = 1;
  for (const std::string& label : labels)
    widest = std::max(widest, utf8::width(shortened(label, kLongestSvgLabel)));
  return widest * kLetter;
}

// The size of a drawing in CSS pixels. The arguments (x, y) of a drawing function are the top left corner of
// the drawing.
struct Size {
  double width = 0, height = 0;
};

Size draw_cells(SvgWriter& svg, const Map& map, std::span<const std::string> rows,
                std::span<const std::string> columns, double x, double y) {
  const double slope = kSlope * 3.14159265358979 / 180;
  const double left = x + label_width(rows) + kGap;
  const double head = label_width(columns) * std::sin(slope) + kGap;
  const double top = y + head;
  for (std::int64_t c = 0; c < map.columns; ++c)
    svg.text(left + (static_cast<double>(c) + 0.55) * kCell, top - 6,
             shortened(columns[static_cast<std::size_t>(c)], kLongestSvgLabel), "label",
             SvgWriter::Anchor::start, -kSlope);
  for (std::int64_t r = 0; r < map.rows; ++r) {
    const std::string& row = rows[static_cast<std::size_t>(r)];
    const double at = top + static_cast<double>(r) * kCell;
    svg.text(left - kGap, at + kCell * 0.66, shortened(row, kLongestSvgLabel), "label",
             SvgWriter::Anchor::end);
    for (std::int64_t c = 0; c < map.columns; ++c) {
      const double weight = static_cast<double>(map.at(r, c)), across = left + static_cast<double>(c) * kCell;
      svg.rectangle(across, at, kCell - 1, kCell - 1, "cell", weight,
                    fmt::format("{} → {}: {}", row, columns[static_cast<std::size_t>(c)], map.at(r, c)));
      if (weight >= 0.005)
        svg.text(across + kCell / 2, at + kCell * 0.64, fmt::format("{}", std::lround(weight * 100)),
                 weight > 0.5 ? "strong" : "number", SvgWriter::Anchor::middle);
    }
  }
  const double overhang = label_width(columns) * std::cos(slope);
  return {left - x + static_cast<double>(map.columns) * kCell + overhang,
          head + static_cast<double>(map.rows) * kCell};
}

// Draw lines between two columns of tokens: queries on the left, keys on the right.
Size draw_lines(SvgWriter& svg, const Map& map, std::span<const std::string> rows,
                std::span<const std::string> columns, double x, double y) {
  constexpr double kStep = 26;
  const auto most = static_cast<double>(std::max(map.rows, map.columns));
  const double left = x + label_width(rows), right = left + kLinesWidth + 2 * kGap;
  const auto place = [&](std::int64_t index, std::int64_t count) {
    return y + kStep * (static_cast<double>(index) + 0.5 + (most - static_cast<double>(count)) / 2);
  };
  for (std::int64_t r = 0; r < map.rows; ++r)
    for (std::int64_t c = 0; c < map.columns; ++c)
      if (const double weight = static_cast<double>(map.at(r, c)); weight >= 0.02)
        svg.curve(left + kGap, place(r, map.rows), right - kGap, place(c, map.columns), 0.5 + 4 * weight,
                  0.15 + 0.85 * weight);
  for (std::int64_t r = 0; r < map.rows; ++r)
    svg.text(left, place(r, map.rows) + 5, shortened(rows[static_cast<std::size_t>(r)], kLongestSvgLabel),
             "label", SvgWriter::Anchor::end);
  for (std::int64_t c = 0; c < map.columns; ++c)
    svg.text(right, place(c, map.columns) + 5,
             shortened(columns[static_cast<std::size_t>(c)], kLongestSvgLabel), "label");
  return {right - x + label_width(columns), kStep * most};
}

// Draw the colour scale with its numbers, whose baseline is at `y`. Return the width of the drawing.
double draw_legend(SvgWriter& svg, double x, double y) {
  constexpr int kSteps = 5;
  svg.text(x, y, "0 %", "quiet");
  for (int step = 0; step < kSteps; ++step)
    svg.rectangle(x + 28 + step * 22, y - 11, 21, 12, "scale", static_cast<double>(step) / (kSteps - 1));
  svg.text(x + 28 + kSteps * 22 + 6, y, "100 % of each row's attention", "quiet");
  return 28 + kSteps * 22 + 6 + 210;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out = html_escaped(text, true);
  // XML does not allow control characters, even if they are escaped.
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') c = ' ';
  // XML does not allow U+FFFE and U+FFFF either. Replace them with U+FFFD.
  for (std::size_t at = 0; (at = out.find("\xEF\xBF", at)) != out.npos; ++at)
    if (at + 2 < out.size() && static_cast<unsigned char>(out[at + 2]) >= 0xBE) out[at + 2] = '\xBD';
  return out;
}

void SvgWriter::rectangle(double x, double y, double width, double height, std::string_view style,
                          double opacity, std::string_view tooltip) {
  body_ += fmt::format(
      R"(<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill-opacity="{:.3f}")", style,
      x, y, width, height, opacity);
  body_ += tooltip.empty() ? "/>\n" : "><title>" + escaped(tooltip) + "</title></rect>\n";
}

void SvgWriter::text(double x, double y, std::string_view words, std::string_view style, Anchor anchor,
                     double rotation) {
  constexpr const char* kAnchors[] = {"start", "middle", "end"};
  const std::string turned =
      rotation == 0 ? "" : fmt::format(" transform=\"rotate({:.0f} {:.1f} {:.1f})\"", rotation, x, y);
  body_ += fmt::format(R"(<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}"{}>{}</text>)", style, x, y,
                       kAnchors[static_cast<std::size_t>(anchor)], turned, escaped(words));
  body_ += '\n';
}

void SvgWriter::curve(double x0, double y0, double x1, double y1, double thickness, double opacity) {
  const double middle = (x0 + x1) / 2;
  body_ += fmt::format(
      R"(<path class="line" d="M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}" stroke-width="{:.2f}" stroke-opacity="{:.3f}"/>)",
      x0, y0, middle, y0, middle, y1, x1, y1, thickness, opacity);
  body_ += '\n';
}

std::string SvgWriter::document(double width, double height, std::string_view title) const {
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 "
             "{0:.0f} "
             "{1:.0f}\" role=\"img\" style=\"max-width:100%;height:auto\">\n<title>{2}</title>\n",
             std::ceil(width), std::ceil(height), escaped(title)) +
         std::string(kStyle) + R"(<rect class="paper" width="100%" height="100%"/>)" + "\n" + body_ +
         "</svg>\n";
}

std::string to_svg(const View& view) {
  SvgWriter svg;
  double y = kMargin, width = 0;
  for (const Map& map : view.maps) {
    const auto rows = view.row_labels(map), columns = view.column_labels(map);
    svg.text(kMargin, y + 14, map.title(), "title");
    if (map.summary) {
      svg.text(kMargin, y + 32, map.summary->caption, "quiet");
      width = std::max(width, kMargin + 0.72 * kLetter * utf8::width(map.summary->caption));
      y += kCaption;
    }
    const Size cells = draw_cells(svg, map, rows, columns, kMargin, y + kTitle);
    const double beside = kMargin + cells.width + 2 * kGap;
    const Size lines = draw_lines(svg, map, rows, columns, beside, y + kTitle);
    width = std::max(width, beside + lines.width);
    y += kTitle + std::max(cells.height, lines.height) + kMargin;
    const bool cross = map.head.kind == Kind::cross;
    svg.text(kMargin, y + 6,
             cross ? "Row: the generated token. Column: the source token that it attends to."
                   : "Row: the token that attends. Column: the token that it attends to.",
             "quiet");
    y += 2 * kMargin;
  }
  width = std::max(width, kMargin + draw_legend(svg, kMargin, y));
  return svg.document(width + kMargin, y + kMargin, "Attention: " + view.heading());
}

}  // namespace regard::inspect
