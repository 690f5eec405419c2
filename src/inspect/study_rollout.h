// The studies `rollout` and `flow`: attention through all layers of one encoder or decoder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "inspect/study_context.h"
#include "models/dual_encoder.h"

namespace regard::inspect {

class RolloutStudy : public StudyContext {
 public:
  using StudyContext::StudyContext;

 protected:
  StudyTable rollout() const;
  StudyTable flow() const;

 private:
  // One input, and the network whose self-attention is studied: the model or, in a model with two encoders,
  // the encoder that reads the input.
  struct Studied {
    Network& network;
    PassInput input;
    std::vector<std::string> labels;    // name of each position
    const char* place;                  // kind of position: "token", "patch" or "time"
    std::int64_t position;              // default position of flow()
    std::unique_ptr<EditedPass> edits;  // interventions of the network; null if there are none
  };
  Studied studied() const;
  Studied studied_tower(DualEncoder& dual) const;
};

}  // namespace regard::inspect
