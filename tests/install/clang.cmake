# A user's program under Debian's clang 14, whose standard library has no std::source_location: the headers
# compile without warnings, and errors name the user's line. Without that compiler: skipped.
# Usage: cmake -D ROOT=<source tree> -D LIBRARY=<libmica.so> -D WORK=<folder> -D FLAGS=<sanitizer flags>
#              -P clang.cmake
cmake_minimum_required(VERSION 3.25)
find_program(CLANG clang++-14)
if(NOT CLANG)
  message(STATUS "skipped: clang++-14 is not installed")
  return()
endif()
file(MAKE_DIRECTORY "${WORK}")
set(compile "${CLANG}" -std=c++20 -Wall -Wextra -Wpedantic -Werror "-I${ROOT}" "-I${ROOT}/include")
file(WRITE "${WORK}/headers.cpp" "#include <mica/mica.h>\n")
foreach(source IN ITEMS "${WORK}/headers.cpp" "${ROOT}/tests/install/consumer/main.cpp" "${ROOT}/tests/install/lines.cpp")
  execute_process(COMMAND ${compile} -fsyntax-only "${source}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(FLAGS)
  message(STATUS "compiled; a library with a sanitizer is not linked")
  return()
endif()
get_filename_component(folder "${LIBRARY}" DIRECTORY)
execute_process(COMMAND ${compile} "${ROOT}/tests/install/lines.cpp" -o "${WORK}/lines" "${LIBRARY}" "-Wl,-rpath,${folder}"
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${WORK}/lines" COMMAND_ERROR_IS_FATAL ANY)
