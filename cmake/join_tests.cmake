# cmake -DJOINED=… -DSOURCES=a.cpp,b.cpp -DROOT=… -P join_tests.cmake: writes the test sources one after the other into JOINED.
# Each anonymous namespace gets an inner namespace with a different name, so that two files may use the same names.
# Messages of the compiler and of failing tests name the original file (relative to ROOT) and line.
string(REPLACE "," ";" SOURCES "${SOURCES}")
set(number 0)
file(WRITE ${JOINED}.new "")
foreach(source IN LISTS SOURCES)
  math(EXPR number "${number} + 1")
  file(READ ${source} text)
  string(REGEX REPLACE "\nnamespace {\n" "\nnamespace { namespace source_${number} {\n" text "${text}")
  string(REGEX REPLACE "\n}  // namespace\n" "\n} }\n" text "${text}")
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${ROOT})
  file(APPEND ${JOINED}.new "#line 1 \"${source}\"\n${text}")
endforeach()
file(RENAME ${JOINED}.new ${JOINED})
