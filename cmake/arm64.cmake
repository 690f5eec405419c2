# Cross build for arm64 with Debian's g++-aarch64-linux-gnu and its :arm64 library packages.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu /usr/lib/aarch64-linux-gnu)
set(CMAKE_PREFIX_PATH /usr/lib/aarch64-linux-gnu/cmake)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
# Run programs with the C library of the :arm64 packages. The C library of the cross compiler, in
# /usr/aarch64-linux-gnu, does not match the loader, and the first thread of a program would never start.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /)
