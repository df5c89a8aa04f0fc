# Compiler, linker and cache settings of all of Mica's own code, as the interface target mica_settings.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

# bin/mica (the tool) and lib/libmica.so keep apart.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# Several checkouts and build folders share one cache: paths below this one's are hashed and compiled
# relative to the build folder.
find_program(MICA_CCACHE ccache)
if(MICA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND};-E;env;CCACHE_NOHASHDIR=1;CCACHE_BASEDIR=${PROJECT_SOURCE_DIR};${MICA_CCACHE}")
endif()

add_library(mica_settings INTERFACE)
target_compile_features(mica_settings INTERFACE cxx_std_20)
target_include_directories(mica_settings INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include")
target_compile_options(mica_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  # Rounding is fixed by the algorithm: the host compiler fuses no multiply and add of its own.
  -ffp-contract=off
  -fno-semantic-interposition -ffunction-sections -fdata-sections
  $<$<BOOL:${MICA_WERROR}>:-Werror>)
# Where passes are verified, so is each index into a vector.
target_compile_definitions(mica_settings INTERFACE
  $<$<BOOL:${MICA_VERIFY_PASSES}>:MICA_VERIFY_PASSES=1 _GLIBCXX_ASSERTIONS>)
target_link_options(mica_settings INTERFACE -Wl,--gc-sections -Wl,--as-needed)

# The undefined-behaviour sanitizer takes as long to compile as all else, and the optimiser takes time
# too: both are for the library alone (MicaLibrary), not for the tests around it.
if(MICA_SANITIZE)
  string(REGEX REPLACE "(^|,)undefined" "" sanitize_everything "${MICA_SANITIZE}")
  target_compile_options(mica_settings INTERFACE
    $<$<BOOL:${sanitize_everything}>:-fsanitize=${sanitize_everything}>
    -fno-sanitize-recover=all -fno-omit-frame-pointer
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)  # wrong in instrumented libstdc++ code
  target_link_options(mica_settings INTERFACE -fsanitize=${MICA_SANITIZE})
endif()

# Several threads count.
if(MICA_COVERAGE)
  target_compile_options(mica_settings INTERFACE --coverage -fprofile-update=atomic -fprofile-abs-path)
  target_link_options(mica_settings INTERFACE --coverage)
endif()

# The fastest linker that works: LLVM's archives make this the longest step of a small change.
include(CheckLinkerFlag)
foreach(linker IN ITEMS mold lld)
  if(NOT MICA_LINKER)
    check_linker_flag(CXX "-fuse-ld=${linker}" MICA_HAS_LD_${linker})
    if(MICA_HAS_LD_${linker})
      set(MICA_LINKER ${linker})
    endif()
  endif()
endforeach()
if(MICA_LINKER)
  target_link_options(mica_settings INTERFACE -fuse-ld=${MICA_LINKER})
endif()

# What is still a shared library lies in ../lib, for indirect uses too (DT_RPATH, not DT_RUNPATH).
if(MICA_STATIC)
  set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
  set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")
  target_link_options(mica_settings INTERFACE -Wl,--disable-new-dtags)
endif()
