# Where ccache is installed, compile through it: an object that was compiled before from the same text with the same
# options, in any checkout, is copied from the cache. Paths are hashed relative to the checkout. ccache needs these
# permissions (CCACHE_SLOPPINESS) to serve objects that use precompiled headers.
option(REGARD_COMPILER_CACHE "Compile through ccache where it is installed" ${PROJECT_IS_TOP_LEVEL})
if(REGARD_COMPILER_CACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(REGARD_CCACHE ccache)
  if(REGARD_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${REGARD_CCACHE})
  endif()
endif()
