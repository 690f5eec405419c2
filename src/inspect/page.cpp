#include "inspect/page.h"

#include "base/script_json.h"
#include "inspect/page_source.h"

namespace regard::inspect {

std::string to_html(const View& view, Precision precision) {
  constexpr std::string_view kData = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = kPageSource.find(kData) + kData.size();
  const std::size_t end = kPageSource.find("</script>", begin);
  std::string out(kPageSource.substr(0, begin));
  out += script_json(to_json(view, precision));
  out += kPageSource.substr(end);
  return out;
}

}  // namespace regard::inspect
