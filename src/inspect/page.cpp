#include "inspect/page.h"

#include "inspect/page_parts.h"
#include "inspect/svg.h"

namespace regard::inspect {
namespace {

// JSON inside a script element must not contain "</script" or "<!--".
std::string without_tags(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string to_html(const View& view) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>";
  out += escaped("Attention: " + view.heading());
  out += "</title>\n<style>\n";
  out += kPageStyle;
  out += "</style>\n</head>\n";
  out += kPageBody;
  out += "<script type=\"application/json\" id=\"data\">";
  out += without_tags(to_json(view));
  out += "</script>\n<script>\n";
  out += kPageScript;
  out += "</script>\n</body>\n</html>\n";
  return out;
}

}  // namespace regard::inspect
