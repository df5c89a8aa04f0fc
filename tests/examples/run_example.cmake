# What the tests of the examples share. PROGRAM: the executable. WORK: a folder to write to, in which it
# is run.
file(REMOVE_RECURSE "${WORK}")  # what an earlier run left
file(MAKE_DIRECTORY "${WORK}")

# run_good(<pattern> <argument>...): it ends well, and what it prints, left in `output`, has the pattern.
function(run_good pattern)
  execute_process(COMMAND "${PROGRAM}" ${ARGN} WORKING_DIRECTORY "${WORK}" RESULT_VARIABLE failed
                  OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(failed OR NOT output MATCHES "${pattern}")
    message(FATAL_ERROR "${PROGRAM} ${ARGN}: ${failed}\n${output}\n${errors}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# run_bad(<status> <pattern> <argument>...): it ends with that status, such as 1 or [12], and a message that
# has the pattern.
function(run_bad status pattern)
  execute_process(COMMAND "${PROGRAM}" ${ARGN} WORKING_DIRECTORY "${WORK}" RESULT_VARIABLE failed
                  OUTPUT_QUIET ERROR_VARIABLE errors)
  if(NOT failed MATCHES "^(${status})$" OR NOT errors MATCHES "${pattern}")
    message(FATAL_ERROR "${PROGRAM} ${ARGN} should end with ${status} and a message, but: ${failed} ${errors}")
  endif()
endfunction()

# expect_picture(<file>): a PNG that is not empty of what was to be drawn.
function(expect_picture name)
  file(READ "${WORK}/${name}" magic LIMIT 8 HEX)
  file(SIZE "${WORK}/${name}" bytes)
  if(NOT magic STREQUAL "89504e470d0a1a0a" OR bytes LESS 8000)
    message(FATAL_ERROR "${name} is no picture: it begins with ${magic} and has ${bytes} bytes")
  endif()
endfunction()

# run_alike(<pattern> <numbers> <argument>...): on the host and on the GPU emulator it ends well, and what it
# prints has the pattern, the same `numbers`, of which there are some, and the same picture, small.png.
function(run_alike pattern numbers)
  foreach(target IN ITEMS host emulator)
    run_good("${pattern}" ${ARGN} --target ${target} --picture small.png)
    expect_picture(small.png)
    file(SHA256 "${WORK}/small.png" hash_${target})
    string(REGEX MATCHALL "${numbers}" numbers_${target} "${output}")
  endforeach()
  if(NOT numbers_host STREQUAL numbers_emulator OR numbers_host STREQUAL "" OR NOT hash_host STREQUAL hash_emulator)
    message(FATAL_ERROR "the host and the emulator differ:\n${numbers_host}\n${numbers_emulator}")
  endif()
endfunction()

# expect_page(<file> <pattern>...): it needs nothing else, and has the patterns.
function(expect_page name)
  file(READ "${WORK}/${name}" page)
  foreach(part IN ITEMS "^<!DOCTYPE html>" "default-src 'none'" "<h1>[^<]" "<summary>Loops</summary>" "</html>\n$" ${ARGN})
    if(NOT page MATCHES "${part}")
      message(FATAL_ERROR "${WORK}/${name} lacks ${part}")
    endif()
  endforeach()
  if(page MATCHES "https?://|<script|<link|@import|url[(]| src=| href=")
    message(FATAL_ERROR "${name} needs something else: ${CMAKE_MATCH_0}")
  endif()
endfunction()
