# mica_soak for a short time, and faults made on purpose, each of which it must find. PROGRAM: the program.
# FAULTS: pairs "name:what it says", or none for a run that must find nothing. ARGUMENTS: its options.
function(run_soak expected_status expected_text)
  execute_process(COMMAND "${PROGRAM}" ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(output MATCHES "files are in ([^\n]+)")
    set(folder "${CMAKE_MATCH_1}")
  endif()
  if(NOT status EQUAL expected_status OR NOT output MATCHES "${expected_text}")
    message(FATAL_ERROR "${ARGN}: ${status}, not ${expected_status} with \"${expected_text}\":\n${output}")
  endif()
  if(folder)
    file(REMOVE_RECURSE "${folder}")
  endif()
endfunction()

if(NOT FAULTS)
  run_soak(0 "nothing is wrong" ${ARGUMENTS})
endif()
foreach(pair IN LISTS FAULTS)
  string(REGEX MATCH "^([a-z]+):(.*)$" matched "${pair}")
  run_soak(1 "FAULT [^\n]*${CMAKE_MATCH_2}" ${ARGUMENTS} --fault ${CMAKE_MATCH_1})
endforeach()
