// Read a table of any format, plain or compressed, and read each cell as every type. The first byte selects
// the format, the columns, the delimiter, and whether malformed rows are skipped.
#include "data/table.h"

#include "target.h"

namespace {

using namespace regard;

void read_cells(const data::TableRow& row) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!row.has(i)) continue;
    fuzz::must_return_or_blame_the_file([&] { row.text(i); });
    fuzz::must_return_or_blame_the_file([&] { row.json(i); });
    fuzz::must_return_or_blame_the_file([&] { row.words(i); });
    fuzz::must_return_or_blame_the_file([&] { row.number(i); });
    fuzz::must_return_or_blame_the_file([&] { row.integer(i); });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::filesystem::path path = fuzz::folder() / "table";
  fuzz::put(path, fuzz::text_of(data + 1, size - 1));
  constexpr data::TableFormat kFormats[] = {data::TableFormat::tsv, data::TableFormat::csv,
                                            data::TableFormat::jsonl, data::TableFormat::text};
  const data::TableFormat format = kFormats[data[0] % 4];
  const bool named = (data[0] & 4) != 0, skips = (data[0] & 8) != 0;
  const data::Faulty faulty = skips ? data::Faulty::skip : data::Faulty::refuse;
  data::TableOptions options{.files = {path.string()},
                             .format = format,
                             .delimiter = (data[0] & 16) != 0 ? ';' : '\0',
                             .bad_utf8 = faulty,
                             .malformed = faulty,
                             .blank = faulty};
  if (format == data::TableFormat::jsonl || (named && format != data::TableFormat::text))
    options.columns = {"a"};
  if (data::has_columns(format)) options.optional_columns = {"b"};
  fuzz::must_return_or_blame_the_file([&] {
    data::TableReader reader(options);
    for (data::TableRow row; reader.next(row);) read_cells(row);
    reader.report().text();
  });
  return 0;
}
