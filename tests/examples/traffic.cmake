# tools/measure_traffic.sh reads predictions and counters, here those of programs that only print.
# SCRIPT: the script; WORK: a folder to work in.
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
file(WRITE "${WORK}/ncu" [=[#!/bin/bash
while [[ $1 == --* ]]; do
  [[ $1 == --log-file ]] && log=$2
  [[ $1 == --csv ]] && shift || shift 2
done
"$@" || exit 1
cat >"$log" <<'END'
==PROF== Connected to process 1
"ID","Kernel Name","Block Size","Metric Name","Metric Unit","Metric Value"
"0","next_kernel(float *, int)","(32, 8, 1)","dram__bytes_read.sum","byte","1,100,000"
"0","next_kernel(float *, int)","(32, 8, 1)","lts__t_sectors_srcunit_tex_op_read.sum","sector","1,000"
"1","twin","(32, 8, 1)","l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum","byte","4096"
END
]=])
file(WRITE "${WORK}/mica" [=[#!/bin/bash
[[ $1 == bench ]] && exit 0
[[ "$*" == "traffic some/case --size 64" ]] || exit 1
echo '{"kernels": [
  {"dram_read": 1000000, "l2_read": 64000.0, "name": "next_kernel"}]}'
]=])
file(CHMOD "${WORK}/ncu" "${WORK}/mica" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
set(ENV{MICA} "${WORK}/mica")

set(ENV{NCU} "${WORK}/ncu")
execute_process(COMMAND "${SCRIPT}" some/case --size 64 RESULT_VARIABLE failed OUTPUT_VARIABLE table
                ERROR_VARIABLE table)
foreach(line IN ITEMS "next_kernel +dram_read +1000000 +1100000 +1.100"
                      "next_kernel +l2_read +64000 +32000 +0.500"
                      "next_kernel +dram +1000000 +1100000 +1.100"
                      "next_kernel +l1_read +- +- +-" "twin +l1_read +- +4096 +-")
  if(failed OR NOT table MATCHES "${line}")
    message(FATAL_ERROR "no line ${line} in (exit ${failed}):\n${table}")
  endif()
endforeach()

execute_process(COMMAND "${SCRIPT}" some/case RESULT_VARIABLE failed OUTPUT_VARIABLE table)
if(failed OR NOT table MATCHES "no predictions" OR NOT table MATCHES "dram_read +- +1100000 +-")
  message(FATAL_ERROR "without predictions (exit ${failed}):\n${table}")
endif()

set(ENV{NCU} "${WORK}/no_ncu")
execute_process(COMMAND "${SCRIPT}" some/case RESULT_VARIABLE failed OUTPUT_VARIABLE message)
if(NOT failed EQUAL 77 OR NOT message MATCHES "not installed")
  message(FATAL_ERROR "without ncu (exit ${failed}):\n${message}")
endif()
