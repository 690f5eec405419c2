#include "inspect/page.h"

#include "base/script_json.h"
#include "inspect/page_source.h"

namespace regard::inspect {

std::string to_html(const View& view, Precision precision) {
  constexpr std::string_view kData = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = kPageSource.find(kData) + kData.size();
  const std::size_t end = kPageSource.find("</script>", begin);
  std::string out(kPageSource.substr(0, begin));
  // The content security policy forbids network access, even if the displayed text contains HTML or scripts.
  constexpr std::string_view kHead = "<head>";
  out.insert(out.find(kHead) + kHead.size(),
             "\n    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
             "'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; connect-src "
             "'none'; base-uri 'none'; form-action 'none'\" />");
  out += script_json(to_json(view, precision));
  out += kPageSource.substr(end);
  return out;
}

}  // namespace regard::inspect
