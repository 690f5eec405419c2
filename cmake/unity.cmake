# regard_unity(TARGET SOURCE…): with REGARD_UNITY, groups of sources of one directory are compiled as one file. Headers are
# then parsed, and inline functions compiled, once per group: a whole build takes half the time, but an edit recompiles its
# group. docs/decisions/0011 has the measurements.
option(REGARD_UNITY "Compile groups of source files at once, for a fast whole build" OFF)
set(REGARD_UNITY_BYTES 180000 CACHE STRING "Bytes of a group of sources in a unity build")
# These share names in their anonymous namespaces with their neighbours and stay alone.
set(REGARD_UNITY_ALONE "/kernels/(attention|int8|packed_matrix)[.]cpp$|/data/image_(jpeg|png|webp)[.]cpp$|/phrasebook/(idioms|nouns|possessions)[.]cpp$")

function(regard_unity target)
  if(NOT REGARD_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # g++ reports a member whose type is in the anonymous namespace of the same source as if that source were a header.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  set(group 0)
  set(last "")
  set(bytes 0)
  foreach(source ${ARGN})
    if(source MATCHES "${REGARD_UNITY_ALONE}")
      continue()
    endif()
    get_filename_component(folder ${source} DIRECTORY)
    file(SIZE ${source} size)
    math(EXPR bytes "${bytes} + ${size}")
    if(NOT folder STREQUAL last OR bytes GREATER REGARD_UNITY_BYTES)
      math(EXPR group "${group} + 1")
      set(bytes ${size})
      set(last ${folder})
    endif()
    get_filename_component(name ${folder} NAME)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name}_${group})
  endforeach()
endfunction()
