#include "evaluate/picture_data.h"

#include <utility>

namespace regard::evaluate {

std::vector<data::PictureRow> read_pictures(const DataOptions& data, Evaluation& result) {
  data::PictureRows rows = data::read_picture_rows(data);
  if (rows.rows.empty()) throw nothing_to_evaluate(data);
  result.fact("rows", rows.rows.size());
  result.line("rows         {}", rows.rows.size());
  for (const data::PictureRow& row : rows.rows)
    result.rows.push_back({row.place, row.name(), row.text, nullptr});
  return std::move(rows.rows);
}

std::vector<tasks::Input> inputs_of(std::span<const data::PictureRow> rows,
                                    const tasks::ImageReader& reader) {
  std::vector<data::Image> images;
  for (const data::PictureRow& row : rows) images.push_back(placed(row.place, [&row] { return row.read(); }));
  return reader.read(images);
}

}  // namespace regard::evaluate
