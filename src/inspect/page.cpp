#include "inspect/page.h"

#include "inspect/capture_json.h"
#include "inspect/page_source.h"

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
  constexpr std::string_view kData = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = kPageSource.find(kData) + kData.size();
  const std::size_t end = kPageSource.find("</script>", begin);
  std::string out(kPageSource.substr(0, begin));
  out += without_tags(to_json(view));
  out += kPageSource.substr(end);
  return out;
}

}  // namespace regard::inspect
