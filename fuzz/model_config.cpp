// Open a model with real weights and a changed config.json. Run in the root folder of the repository.
// The first byte selects one of the small models in tests/data, and the rest is a JSON merge patch (RFC 7386)
// of its config. A model that still loads must run.
#include <vector>

#include "base/thread_pool.h"
#include "formats/model_folder.h"
#include "models/weights.h"
#include "ops/ragged.h"
#include "ops/tape.h"
#include "target.h"

namespace {

struct Model {
  std::filesystem::path folder;
  regard::base::Json config;
};

const std::vector<Model>& folders() {
  static const auto* const all = [] {
    auto* found = new std::vector<Model>;
    for (const auto& entry : std::filesystem::directory_iterator("tests/data/hf-tiny")) {
      if (!std::filesystem::exists(entry.path() / "config.json")) continue;
      Model model{
          regard::fuzz::folder() / entry.path().filename(),
          regard::base::parse_json(regard::base::read_file(entry.path() / "config.json"), "config.json")};
      std::filesystem::create_directory(model.folder);
      for (const auto& file : std::filesystem::directory_iterator(entry.path()))
        if (file.path().filename().string().starts_with("model") || file.path().extension() == ".bin")
          std::filesystem::create_symlink(std::filesystem::absolute(file.path()),
                                          model.folder / file.path().filename());
      found->push_back(std::move(model));
    }
    std::sort(found->begin(), found->end(),
              [](const Model& a, const Model& b) { return a.folder < b.folder; });
    return found;
  }();
  return *all;
}

void run(regard::models::Network& network) {
  using namespace regard;
  using namespace regard::models;  // includes the names of nn, ops, tensor and base
  static ThreadPool pool(1);
  static Arena arena;
  const ModelInput tokens({1, 2, 3});
  const InputSpec& spec = network.input_spec();
  const ModelInput input = spec.kind == InputKind::tokens ? tokens : spec.blank();
  InputBuffer source, target;
  source.add(input, spec.length_of(input), 0);
  target.add(tokens, std::ssize(tokens.ids), 0);
  arena.reset();
  Tape tape(pool, arena);
  Memory memory;
  if (network.kind() != ModelKind::decoder)
    memory = {network.encode(tape, source.batch()), source.batch().shape};
  if (network.kind() != ModelKind::encoder) network.decode(tape, target.batch(), &memory, nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace regard;
  using namespace regard::models;  // includes the names of nn, ops, tensor and base
  if (size == 0) return 0;
  const Model& model = folders()[data[0] % folders().size()];
  fuzz::must_return_or_blame_the_file([&] {
    Json config = model.config;
    config.merge_patch(parse_json(fuzz::text_of(data, size).substr(1), "patch.json"));
    fuzz::put(model.folder / "config.json", config.dump());
    const auto network = load_model(formats::ModelFolder::open(model.folder));
    try {
      run(*network);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::usage) throw;  // the tokens may not fit the model
    }
  });
  return 0;
}
