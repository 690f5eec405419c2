// POST /classify/picture: return the scores of labels for one image, like `regard classify PICTURE`. CLIP and
// SigLIP score the labels in the request (zero-shot classification); other models have their own labels.
#include "models/dual_encoder.h"
#include "serve/http_error.h"
#include "serve/json_schema.h"
#include "serve/request_edits.h"
#include "serve/request_file.h"
#include "serve/request_scores.h"
#include "tasks/best.h"
#include "tasks/image_text.h"

namespace regard::serve {
namespace {

constexpr std::int64_t kMostLabels = 1000;

struct Scored {
  std::vector<std::string> labels;
  Tensor scores;  // [1, labels]
};

Scored compare_with_words(Call& call, ModelHost& host, const data::Image& image, Probe* probe) {
  tasks::ImageTextEncoder encoder(host.loaded(), host.pool(), probe);
  if (!call.has("labels"))
    throw HttpError(400, "expected \"labels\", because this model has no labels of its own", "invalid_value",
                    "labels");
  const auto pattern = call.value<std::string>("pattern", tasks::kLabelPattern);
  if (pattern.find("{}") == pattern.npos)
    throw HttpError(400, "the label pattern has no placeholder {}", "invalid_value", "pattern");
  tasks::ZeroShotClassifier classifier(encoder, call.value<std::vector<std::string>>("labels", {}), pattern);
  if (const auto scores = scores_of(call)) classifier.set_scores(*scores);
  call.waiting.require();
  return {classifier.labels(), classifier.scores(encoder.read({&image, 1}))};
}

Scored classify_by_model(Call& call, ModelHost& host, const data::Image& image, Probe* probe) {
  for (const char* name : {"labels", "pattern"})
    if (call.has(name))
      throw HttpError(400, std::string("this model has its own labels; remove \"") + name + "\"",
                      "invalid_value", name);
  tasks::ClassifyOptions options;
  options.reading.probe = probe;
  options.scores = scores_of(call);
  tasks::Classifier classifier(host.loaded(), host.pool(), options);
  const tasks::ImageReader reader(host.loaded().folder.path, host.loaded().model->input_spec());
  return {classifier.labels(), classifier.scores(reader.read({&image, 1}))};
}

void answer_picture_labels(Call& call) {
  call.only_file();  // refuse a request without exactly one file
  const auto host = call.find_model(Ability::classify_picture);
  const ExclusiveUse use(call, *host);
  const data::Image image = read_picture(call);
  const bool by_words = dual_encoder_of(*host->loaded().model) != nullptr;
  const Scored scored = by_words ? compare_with_words(call, *host, image, use.probe())
                                 : classify_by_model(call, *host, image, use.probe());
  Json labels = Json::array();
  for (const std::int64_t i :
       tasks::best_of({scored.scores.f32(), scored.labels.size()}, scored.labels.size()))
    labels.push_back(
        {{"label", scored.labels[static_cast<std::size_t>(i)]}, {"score", scored.scores.f32()[i]}});
  call.reply({{"model", host->name()}, {"labels", std::move(labels)}});
}

}  // namespace

void add_classify_picture_route(std::vector<Route>& routes) {
  using namespace schema;
  Route route = json_route(
      Protocol::regard, "/classify/picture", "Scores of labels for one image, best first",
      answer_picture_labels,
      object(
          {{"file", described(text(1000), "An image file")},
           {"labels", described(array(text(1000), 1, kMostLabels), "CLIP and SigLIP: labels to choose from")},
           {"pattern",
            described(text(1000), "The text to compare with the image; {} is replaced by the label")},
           {"scores", scores_schema()},
           {"interventions", interventions_schema()},
           {"model", text(1000)}},
          {"file"}),
      object({{"model", text()}, {"labels", array(Json::object(), 1, 1 << 20)}}, {"model", "labels"}));
  route.forms = route.files = route.heavy = true;
  routes.push_back(std::move(route));
}

}  // namespace regard::serve
