# blur filters a picture (its test card, and gray.png where MICA_DATA_DIR has it) under five schedules.
# PROGRAM: the blur executable. WORK: a folder to write to.
include("${CMAKE_CURRENT_LIST_DIR}/run_example.cmake")
set(images "")
set(photograph "$ENV{MICA_DATA_DIR}/rgb_small.png")
if(NOT "$ENV{MICA_DATA_DIR}" STREQUAL "" AND EXISTS "${photograph}")
  list(APPEND images "${photograph}")
endif()
foreach(image IN ITEMS "" ${images})
  execute_process(COMMAND "${PROGRAM}" ${image} --target host --output "${WORK}/blurred.png"
                  RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed OR NOT output MATCHES "agree in every bit")
    message(FATAL_ERROR "blur ${image} failed:\n${output}")
  endif()
  # What was written can be read again.
  execute_process(COMMAND "${PROGRAM}" "${WORK}/blurred.png" --passes 1 --target host --output "${WORK}/again.png"
                  RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    message(FATAL_ERROR "blur cannot read its own picture:\n${output}")
  endif()
endforeach()
file(WRITE "${WORK}/no.png" "not a picture")
file(WRITE "${WORK}/empty.png" "")
# What the message says, then the command line.
set(ENV{MICA_TARGET} host)
foreach(bad IN ITEMS "no.png;${WORK}/no.png" "empty.png;${WORK}/empty.png" "is a folder;${WORK}"
    "cannot open;${WORK}/missing.png" "/dev/full;--output;/dev/full" "cannot open;--output;${WORK}"
    "passes;--passes;0" "passes;--passes;nan" "passes;--passes;-1" "passes;--passes;99999999999999999999"
    "host:1;--target;host:1")
  list(POP_FRONT bad expected)
  run_bad("[12]" "${expected}" ${bad})
endforeach()
