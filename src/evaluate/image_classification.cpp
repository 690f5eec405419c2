#include "evaluate/image_classification.h"

#include <algorithm>

#include "evaluate/class_scores.h"
#include "evaluate/picture_data.h"
#include "tasks/classify.h"

namespace regard::evaluate {

Evaluation image_classification(const Subject& subject, const DataOptions& data) {
  tasks::ClassifyOptions classify;
  classify.reading.probe = subject.probe;
  tasks::Classifier classifier(subject.model, subject.pool, classify);
  const tasks::ImageReader reader(subject.model.folder.path, subject.model.model->input_spec());
  const std::vector<std::string>& labels = classifier.labels();
  Evaluation result;
  result.task = "image-classification";
  const std::vector<data::PictureRow> rows = read_pictures(data, result);
  std::vector<std::int32_t> predicted, truth;
  for (const data::PictureRow& row : rows)
    truth.push_back(placed(row.place, [&] { return class_named(row.text, labels); }));
  for (std::size_t first = 0; first < rows.size(); first += kPicturesTogether) {
    const std::size_t count = std::min(kPicturesTogether, rows.size() - first);
    const Tensor scores = classifier.scores(inputs_of(std::span(rows).subspan(first, count), reader));
    for (std::size_t i = 0; i < count; ++i) {
      const float* row = scores.row(static_cast<std::int64_t>(i));
      const auto best = std::max_element(row, row + labels.size()) - row;
      predicted.push_back(static_cast<std::int32_t>(best));
      EvaluatedRow& about = result.rows[first + i];
      about.expected = labels[static_cast<std::size_t>(truth[first + i])];
      about.output = labels[static_cast<std::size_t>(best)];
      about.score = best == truth[first + i] ? 1 : 0;
    }
  }
  result.row_score = "accuracy";
  add_class_scores(predicted, truth, labels, result);
  return result;
}

}  // namespace regard::evaluate
