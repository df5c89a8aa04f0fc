# The mica tool lists, shows and dumps every named schedule.
# PROGRAM: the mica executable. WORK: a folder to write to.
file(MAKE_DIRECTORY "${WORK}")
function(run out)
  execute_process(COMMAND "${PROGRAM}" ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    message(FATAL_ERROR "mica ${ARGN} failed:\n${output}")
  endif()
  set(${out} "${output}" PARENT_SCOPE)
endfunction()
run(listing list)
string(REGEX MATCHALL "[a-z0-9]+/[a-z0-9-]+ " names "${listing}")
list(LENGTH names count)
if(count LESS 10)
  message(FATAL_ERROR "mica list names only ${count} schedules:\n${listing}")
endif()
foreach(name IN LISTS names)
  string(STRIP "${name}" name)
  run(shown show ${name})
  if(NOT shown MATCHES "produce ")
    message(FATAL_ERROR "mica show ${name} prints no loop nest:\n${shown}")
  endif()
  run(plan plan ${name})
  if(shown MATCHES "gpu_block" AND NOT plan MATCHES "frame   block of ")
    message(FATAL_ERROR "mica plan ${name} prints no block:\n${plan}")
  endif()
endforeach()
run(plan plan pmpp/three-plane-march -p chunk=32)
if(NOT plan MATCHES "march z, chunks of 32" OR NOT plan MATCHES "next <- u.staged: 7 shared")
  message(FATAL_ERROR "another plan:\n${plan}")
endif()
run(json show pmpp/naive --size 64 --json)
string(JSON redundancy GET "${json}" figures redundancy)
string(JSON grid GET "${json}" figures kernels 0 grid 2)
if(NOT redundancy EQUAL 8 OR NOT grid EQUAL 64)
  message(FATAL_ERROR "a redundancy of ${redundancy} on ${grid} planes of blocks in:\n${json}")
endif()
run(json traffic blur/breadth-first --size 256)
foreach(kernel IN ITEMS 0 1)
  foreach(level IN ITEMS l1 l2 dram)
    string(JSON written GET "${json}" kernels ${kernel} ${level}_write)
    string(JSON read GET "${json}" kernels ${kernel} ${level}_read)
    if(written LESS 131072 OR read LESS written)
      message(FATAL_ERROR "too few bytes at ${level}:\n${json}")
    endif()
  endforeach()
endforeach()
run(code dump stencil7 --schedule pmpp/shared-tile --after fuse_thread_loops)
if(NOT code MATCHES "barrier")
  message(FATAL_ERROR "no barrier in:\n${code}")
endif()
run(ptx ptx blur-u16 --schedule blur/shared-tile --sm 80)
if(NOT ptx MATCHES "\\.target sm_80")
  message(FATAL_ERROR "no PTX for sm_80 in:\n${ptx}")
endif()
# Bad input (what the message says, then the command line) ends with a message that names what is wrong.
foreach(bad IN ITEMS
    "pmpp/naive;dump;stencil7;--schedule;no/such" "name=integer;show;pmpp/naive;-p;tile_x=nan"
    "name=integer;show;pmpp/naive;-p;tile_x=99999999999999999999" "tile_x;show;pmpp/naive;-p;tile_x=-1"
    "name=integer;plan;pmpp/naive;-p;tile_x=nan" "no/such;plan;no/such" "tile_x;plan;pmpp/naive;-p;tile_x=-1"
    "99999999999 points;traffic;pmpp/naive;--size;99999999999" "2\\^44;traffic;pmpp/naive;--size;1000000"
    "99999999999 points;show;pmpp/naive;--size;99999999999" "size;traffic;pmpp/naive;--size;-1"
    "size;traffic;pmpp/naive;--size;nan" "size;bench;pmpp/naive;--size;-1"
    "refused: pmpp/naive;bench;pmpp/naive;--target;host;--size;99999999999;--runs;1"
    "no time case;bench;time;8pt" "runs;bench;pmpp/naive;--runs;0" "runs;bench;pmpp/naive;--runs;nan"
    "9999999999 values;bench;pmpp/naive;--target;host;--sweep;tile_x=1:9999999999:1"
    "first:last:step;bench;pmpp/naive;--target;host;--sweep;tile_x=1:99999999999999999999:1"
    "first:last:step;bench;pmpp/naive;--target;host;--sweep;tile_x=nan"
    "/dev/full;bench;pmpp/naive;--target;host;--size;12;--runs;1;--json;/dev/full"
    "/dev/full;bench;pmpp/naive;--target;host;--size;12;--runs;1;--sweep;vec=1;--svg;/dev/full"
    "sm;ptx;stencil7;--sm;0" "sm;ptx;stencil7;--sm;-5" "sm;ptx;stencil7;--sm;nan"
    "PTX;ptx;stencil7;--ptx;-1" "PTX;ptx;stencil7;--ptx;1000000"
    "seconds;fuzz;--seconds;nan" "seconds;fuzz;--seconds;inf" "seconds;fuzz;--seconds;-1"
    "seconds;fuzz;--pairs;1;--shrink-seconds;nan" "pairs;fuzz;--pairs;-1" "pairs;fuzz;--pairs;nan"
    "case-seconds;fuzz;--pairs;1;--case-seconds;0"
    "pairs;fuzz;--pairs;99999999999999999999" "seed;fuzz;--pairs;1;--seed;-1" "seed;fuzz;--pairs;1;--seed;18446744073709551616"
    "size;traffic;pmpp/naive;--size;18446744073709551616" "gpu9;fuzz;--target;gpu9"
    "--campaign;fuzz;--report" "no campaign none.db;fuzz;--campaign;none.db;--report" "/proc/a.db: open;fuzz;--campaign;/proc/a.db"
    "no/such;export;stencil7;--schedule;no/such;-o;a" "cuda:90, not cuda:x;export;stencil7;--target;cuda:x;-o;a"
    "sm_80;export;stencil7;--schedule;pmpp/naive;--target;cuda:70;-o;a" "emulator;export;stencil7;--target;emulator;-o;a"
    "no algorithm named nope;export;nope;-o;a" "--extents has 1;export;stencil7;--extents;3;-o;a"
    "no variant nope;export;stencil7;--variant;nope;-o;a" "begins with a digit;export;stencil7;-o;7up"
    "native or baseline;export;stencil7;--cpu;old;-o;a" "nope.json;export;stencil7;--schedule-file;nope.json;-o;a"
    "--output is required;export;stencil7" "cannot write /no/such/folder/a.a;export;stencil7;-o;/no/such/folder/a"
    "both given;export;stencil7;--schedule;host/rows;--schedule-file;nope.json;-o;a")
  list(POP_FRONT bad expected)
  execute_process(COMMAND "${PROGRAM}" ${bad} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE message TIMEOUT 60)
  if(NOT failed MATCHES "^[12]$" OR NOT message MATCHES "${expected}")
    message(FATAL_ERROR "mica ${bad} should have ended with a message, but: ${failed} ${message}")
  endif()
endforeach()
execute_process(COMMAND "${PROGRAM}" list RESULT_VARIABLE failed OUTPUT_FILE /dev/full ERROR_VARIABLE message)
if(NOT failed EQUAL 1 OR NOT message MATCHES "mica: what was to be printed")
  message(FATAL_ERROR "mica list with nowhere to print should say so, but: ${failed} ${message}")
endif()
execute_process(COMMAND "${CMAKE_COMMAND}" -E env MICA_TRACE=/dev/full "${PROGRAM}" bench pmpp/naive --target host --size 12
                --runs 1 RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE message)
if(failed OR NOT message MATCHES "cannot write the trace to /dev/full")
  message(FATAL_ERROR "a trace that cannot be written should be reported, but: ${failed} ${message}")
endif()
# However short the time, something is tested.
run(tested fuzz --seconds 0.000001 --target host)
if(NOT tested MATCHES "^[1-9][0-9]* cases")
  message(FATAL_ERROR "mica fuzz tested nothing:\n${tested}")
endif()
# A campaign in a file goes on where it was, as the file says.
file(REMOVE "${WORK}/campaign.db")
run(tested fuzz --campaign "${WORK}/campaign.db" --pairs 3 --target host --seed 9)
run(tested fuzz --campaign "${WORK}/campaign.db" --pairs 2)
run(report fuzz --campaign "${WORK}/campaign.db" --report)
if(NOT tested MATCHES "^2 cases" OR NOT report MATCHES "legal schedules on host.*all below 14 done.*5 pairs.*ended +3 .*ended +2 ")
  message(FATAL_ERROR "a campaign of 3 and 2 pairs from seed 9 says:\n${tested}${report}")
endif()
# Every case whose schedule exists gives the host's bits; a sweep draws a figure.
run(steps bench time 7pt-f32 --target emulator --size 12 --steps 1 --runs 1 --sweep T=1,2)
if(NOT steps MATCHES "7pt-f32 +12 +2 .*right")
  message(FATAL_ERROR "mica bench time does not compare a time tile:\n${steps}")
endif()
run(steps bench time 5pt-f32 --plain --target emulator --size 12 --steps 1 --runs 1 --sweep T=2)
if(NOT steps MATCHES "5pt-f32 +12 +2 .*right\n")
  message(FATAL_ERROR "mica bench time --plain does not time a step without directives:\n${steps}")
endif()
run(table bench --target emulator --size 12 --runs 1 --json "${WORK}/bench.json")
if(NOT table MATCHES "pmpp/naive[^\n]*right")
  message(FATAL_ERROR "no result for pmpp/naive in:\n${table}")
endif()
file(READ "${WORK}/bench.json" json)
if(NOT json MATCHES "\"date\": \"20" OR NOT json MATCHES "\"device\"")
  message(FATAL_ERROR "results without date or device:\n${json}")
endif()
run(table bench pmpp/naive --target host --size 12 --runs 1 --sweep vec=1,2,3,4 --svg "${WORK}/vec.svg" --png)
file(READ "${WORK}/vec.svg" svg)
if(NOT svg MATCHES "</svg>" OR NOT EXISTS "${WORK}/vec.png" OR NOT table MATCHES " 3  refused")
  message(FATAL_ERROR "no figure, or a vector of three was taken:\n${table}")
endif()
foreach(slip IN ITEMS "benhc;bench" "dump;--aftr;simplify;--after")
  list(POP_BACK slip meant)
  execute_process(COMMAND "${PROGRAM}" ${slip} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE output)
  if(NOT failed EQUAL 2 OR NOT output MATCHES "did you mean ${meant}[?]")
    message(FATAL_ERROR "mica ${slip} ended with ${failed} and:\n${output}")
  endif()
endforeach()
# A library for programs in C, of a schedule by name and of one from a file.
file(REMOVE_RECURSE "${WORK}/export")
file(MAKE_DIRECTORY "${WORK}/export")
run(written export blur-u16 --schedule blur/cpu-tile -p tile_x=64 --extents 512,128 -o ${WORK}/export/blur --shared)
if(NOT written STREQUAL "${WORK}/export/blur.a\n${WORK}/export/blur.h\n${WORK}/export/blur.so\n")
  message(FATAL_ERROR "mica export says that it wrote:\n${written}")
endif()
file(READ "${WORK}/export/blur.h" header)
if(NOT header MATCHES "int blur\\(const mica_buffer[*] in, const mica_buffer[*] blur_y\\);")
  message(FATAL_ERROR "the header declares no function blur:\n${header}")
endif()
run(written export stencil7 --schedule pmpp/naive --target cuda:80 --variant default,unaligned --name naive -o ${WORK}/export/k)
file(READ "${WORK}/export/k.ptx" ptx)
if(NOT ptx MATCHES "[.]target sm_80" OR EXISTS "${WORK}/export/naive.a")
  message(FATAL_ERROR "mica export wrote no PTX for sm_80:\n${written}")
endif()
