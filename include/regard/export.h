// Macro for the functions and classes that a shared libregard exports. All other symbols are hidden.
#pragma once

#if defined(__GNUC__)
#define REGARD_API __attribute__((visibility("default")))
#define REGARD_HIDDEN __attribute__((visibility("hidden")))
#else
#define REGARD_API
#define REGARD_HIDDEN
#endif
