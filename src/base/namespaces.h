// The namespaces of the directories of src/; the namespace regard itself contains only the public API.
//
// The names of base, tensor, ops, nn and models are visible without qualification in the directories that may
// include them (tools/check_layers.sh); the names of the other directories are qualified.
#pragma once

namespace regard::base {}
namespace regard::tensor {
using namespace base;
}
namespace regard::ops {
using namespace tensor;
}
namespace regard::nn {
using namespace ops;
}
namespace regard::models {
using namespace nn;
}

// Namespaces that may not use ops.
namespace regard::kernels {
using namespace base;
}
namespace regard::text {
using namespace base;
}
namespace regard::metrics {
using namespace base;
}
namespace regard::report {
using namespace base;
}
namespace regard::demo {
using namespace base;
}
namespace regard::distributed {
using namespace base;
}
namespace regard::formats {
using namespace tensor;
}
namespace regard::vectors {
using namespace tensor;
}
namespace regard::data {
using namespace tensor;
}

// Namespaces that may use models.
namespace regard::infer {
using namespace models;
}
namespace regard::tasks {
using namespace models;
}
namespace regard::train {
using namespace models;
}
namespace regard::evaluate {
using namespace models;
}
namespace regard::inspect {
using namespace models;
}
namespace regard::api {
using namespace models;
}
namespace regard::serve {
using namespace models;
}
namespace regard::cli {
using namespace models;
}
