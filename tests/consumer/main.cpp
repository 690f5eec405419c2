#include <regard/regard.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  regard::set_threads(1);
  auto missing = regard::attempt([] { return regard::load("there is no such folder"); });
  if (missing) return 1;
  std::printf("%s\n", missing.error().what());
  auto model = regard::attempt([&] { return regard::load(argv[1]); });
  if (!model) return std::fprintf(stderr, "%s\n", model.error().what()), 1;
  const std::string written = model->translate(argv[2]);
  const regard::Attention attention = model->attend(argv[2], {.target = written});
  const regard::Tensor weights = attention.weights(regard::Kind::cross, 0, 0);
  std::printf("%s\n%s\n", written.c_str(), weights.shape().text().c_str());
}
