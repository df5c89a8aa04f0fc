# Installs Mica into a fresh prefix, checks its headers and exports, then builds and runs the consumer project
# against it. Usage: cmake -D BUILD=<build folder> -D SOURCE=<this folder> -D CXX=<compiler>
#                          -D BUILD_TYPE=<type> -D FLAGS=<sanitizer flags> -D README=<README.md>
#                          -D VERSION=<version> -P run.cmake
cmake_minimum_required(VERSION 3.25)

set(work "${BUILD}/install_test")
set(prefix "${work}/prefix")
file(REMOVE_RECURSE "${work}")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed (${status}): ${command}")
  endif()
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}")

# Installed headers name neither LLVM nor CUDA, and every header they include is installed, and named from
# the one folder that a compiler is told of.
set(root "${prefix}/include")
file(GLOB_RECURSE headers RELATIVE "${root}" "${root}/*.h")
list(LENGTH headers count)
foreach(header IN LISTS headers)
  file(STRINGS "${root}/${header}" lines)
  foreach(line IN LISTS lines)
    if(line MATCHES "#include *\"([^\"]+)\"" AND NOT EXISTS "${root}/${CMAKE_MATCH_1}")
      message(SEND_ERROR "${header} includes ${CMAKE_MATCH_1}, which is not installed by that name")
    endif()
    string(REGEX REPLACE "//.*" "" code "${line}")
    if(code MATCHES "#include *[<\"](llvm|cuda)|llvm::|LLVM[A-Z]|(^|[^A-Za-z0-9_])CU(device|context|stream|module|function|event|graph|result)")
      message(SEND_ERROR "${header} names LLVM or CUDA: ${line}")
    endif()
  endforeach()
endforeach()
if(count LESS 50)
  message(SEND_ERROR "just ${count} headers are installed")
endif()
message(STATUS "${count} installed headers checked")

# The library exports Mica's symbols only, so a program may use an LLVM of its own.
find_program(NM nm REQUIRED)
file(GLOB library "${prefix}/lib*/libmica.so" "${prefix}/lib*/*/libmica.so")
execute_process(COMMAND "${NM}" -D --defined-only --format=posix "${library}" OUTPUT_VARIABLE symbols)
if(NOT symbols MATCHES "(^|\n)_ZN4mica")
  message(SEND_ERROR "${library} exports nothing of mica::")
endif()
if(symbols MATCHES "(^|\n)(_Z[A-Z]*N?K?4llvm[^ ]*|LLVM[^ ]*)")
  message(SEND_ERROR "${library} exports ${CMAKE_MATCH_2} of LLVM")
endif()

run("${CMAKE_COMMAND}" -S "${SOURCE}/consumer" -B "${work}/consumer" -G Ninja
    "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}"
    "-DCMAKE_CXX_FLAGS=${FLAGS} -Wall -Wextra -Wpedantic -Werror" "-DCMAKE_EXE_LINKER_FLAGS=${FLAGS}")
run("${CMAKE_COMMAND}" --build "${work}/consumer")
run("${work}/consumer/consumer")

# Without CMake: the README's own line, with pkg-config, in a folder with a main.cpp and a header that is
# called like one of Mica's.
find_program(PKG_CONFIG pkg-config)
file(STRINGS "${README}" line REGEX "^g[+][+] .*pkg-config")
list(LENGTH line count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "the README has ${count} lines that begin with g++ and use pkg-config")
endif()
if(NOT PKG_CONFIG)
  message(STATUS "pkg-config is not installed: the README's g++ line is not tried")
  return()
endif()
file(COPY "${SOURCE}/consumer/main.cpp" DESTINATION "${work}/by_hand")
file(WRITE "${work}/by_hand/dsl/func/func.h" "#error a header of the program's own\n")
get_filename_component(folder "${library}" DIRECTORY)
set(ENV{PKG_CONFIG_PATH} "${folder}/pkgconfig")
set(ENV{LD_LIBRARY_PATH} "${folder}")
string(REGEX REPLACE "^g[+][+]" "${CXX} -I. -Wall -Wextra -Wpedantic -Werror ${FLAGS}" line "${line}")
execute_process(COMMAND sh -c "${line}" WORKING_DIRECTORY "${work}/by_hand" COMMAND_ERROR_IS_FATAL ANY)
run("${work}/by_hand/app")
execute_process(COMMAND "${PKG_CONFIG}" --modversion mica OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT version STREQUAL VERSION)
  message(SEND_ERROR "mica.pc says version ${version} and not ${VERSION}")
endif()
