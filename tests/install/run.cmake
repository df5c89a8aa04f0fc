# Installs Mica into a fresh prefix, checks its headers and exports, then builds and runs the consumer project
# against it. Usage: cmake -D BUILD=<build folder> -D SOURCE=<this folder> -D CXX=<compiler>
#                          -D BUILD_TYPE=<type> -D FLAGS=<sanitizer flags> -P run.cmake
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

# Installed headers name neither LLVM nor CUDA, and every header they include is installed.
set(root "${prefix}/include/mica")
file(GLOB_RECURSE headers RELATIVE "${root}" "${root}/*.h")
list(LENGTH headers count)
foreach(header IN LISTS headers)
  file(STRINGS "${root}/${header}" lines)
  foreach(line IN LISTS lines)
    if(line MATCHES "#include *\"([^\"]+)\"" AND NOT EXISTS "${root}/${CMAKE_MATCH_1}")
      message(SEND_ERROR "${header} includes ${CMAKE_MATCH_1}, which is not installed")
    endif()
    string(REGEX REPLACE "//.*" "" code "${line}")
    if(code MATCHES "#include *[<\"](llvm|cuda)|llvm::|LLVM[A-Z]|(^|[^A-Za-z0-9_])CU(device|context|stream|module|function|event|graph|result)")
      message(SEND_ERROR "${header} names LLVM or CUDA: ${line}")
    endif()
  endforeach()
endforeach()
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
