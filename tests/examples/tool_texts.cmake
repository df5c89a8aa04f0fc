# What the mica tool prints is for people: lines fit, columns stand apart, words that are not known get the
# nearest one, examples work, messages name what the user wrote and no line of Mica's.
# PROGRAM: the mica executable. WORK: a folder to write to.
include("${CMAKE_CURRENT_LIST_DIR}/run_example.cmake")
string(REPEAT "[^\n]" 120 full)
set(long "${full}[^\n]+")
# expect_fits(<what>): no line of `output` has more than 120 columns. What is no ASCII counts for nothing.
function(expect_fits what)
  string(REGEX REPLACE "[^ -~\n]+" "" text "${output}")
  if(text MATCHES "${long}")
    message(FATAL_ERROR "mica ${what} prints a line of more than 120 columns:\n${CMAKE_MATCH_0}")
  endif()
endfunction()

# Everything that has a name, as JSON too.
run_good("pmpp/naive" list)
expect_fits(list)
run_good("schedules" list --json)
string(JSON count LENGTH "${output}" schedules)
string(JSON cases LENGTH "${output}" cases)
string(JSON algorithms LENGTH "${output}" algorithms)
if(count LESS 10 OR cases LESS 30 OR algorithms LESS 10)
  message(FATAL_ERROR "mica list --json has ${count} schedules, ${cases} cases, ${algorithms} algorithms")
endif()
set(listing "${output}")
file(READ "${CMAKE_CURRENT_LIST_DIR}/../../docs/scheduling.md" page)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  string(JSON name GET "${listing}" schedules ${i} name)
  run_good("produce " show ${name})
  expect_fits("show ${name}")
  set(shown "${output}")
  # Name, value and meaning of each parameter stand apart.
  string(JSON parameters LENGTH "${listing}" schedules ${i} parameters)
  math(EXPR parameters "${parameters} - 1")
  foreach(k RANGE ${parameters})
    string(JSON parameter GET "${listing}" schedules ${i} parameters ${k} name)
    if(NOT shown MATCHES "\n  ${parameter}  +[0-9]+  +[^ ]")
      message(FATAL_ERROR "mica show ${name} glues ${parameter} to its value:\n${shown}")
    endif()
  endforeach()
  # Every figure is explained in docs/scheduling.md.
  string(FIND "${shown}" "\nkernel " kernels)
  if(kernels GREATER 0)
    string(SUBSTRING "${shown}" ${kernels} -1 figures)
    string(REGEX MATCHALL "\n  +[a-z][a-z0-9]*( [a-z0-9]+)*  " labels "${figures}")
    list(LENGTH labels found)
    if(found LESS 4)
      message(FATAL_ERROR "mica show ${name} has ${found} figures:\n${figures}")
    endif()
    foreach(label IN LISTS labels)
      string(STRIP "${label}" label)
      if(NOT page MATCHES "[|] `${label}`")
        message(FATAL_ERROR "docs/scheduling.md does not explain ${label}, which mica show ${name} prints")
      endif()
    endforeach()
  endif()
  run_good("." plan ${name})
  expect_fits("plan ${name}")
endforeach()
run_good("." plan mhd/substep --wide)
if(NOT output MATCHES "${long}")
  message(FATAL_ERROR "mica plan --wide breaks lines:\n${output}")
endif()

# On the host there are no columns of a GPU's.
run_good("case +ms +copy ms +of copy +bits\n" bench pmpp/naive --target host --size 12 --runs 1)
run_good("vec +ms +GB/s +copy GB/s\n" bench pmpp/naive --target host --size 12 --runs 1 --sweep vec=1)

# What the message says, then the command line.
foreach(bad IN ITEMS "no command shwo .did you mean show;shwo" "no option --sizee .did you mean --size;show;pmpp/naive;--sizee;3"
    "a command is missing. the commands are list" "--wide stands before the command. it belongs behind list;--wide;list"
    "-p blok_x=3: schedule pmpp/naive has no parameter blok_x .did you mean block_x;show;pmpp/naive;-p;blok_x=3"
    "-p block_x=1024 block_y=1024: next: 1048576 threads;show;pmpp/naive;-p;block_x=1024;block_y=1024"
    "-p vec=3: next.vectorize;ptx;stencil7;-s;pmpp/register-march;-p;vec=3"
    "pmpp/naif .did you mean pmpp/naive;bench;pmpp/naif;--target;host"
    "blck_x: .* .did you mean block_x;bench;pmpp/naive;--target;host;--sweep;blck_x=1,2"
    "did you mean 7pt-f32;bench;time;7pt-f3x" "did you mean stencil7;show;pmpp/naive;-a;stencil77"
    "did you mean host;bench;pmpp/naive;--target;hots" "did you mean simplify;dump;stencil7;--after;simplif"
    "did you mean pmpp/naive;plan;pmpp/naife" "mica fuzz --help;fuzz;--sed;3"
    "no command lst .did you mean list.*the commands of tuned are list.*mica tuned --help;tuned;lst"
    "a command is missing. the commands of tuned are list;tuned" "no option --filtre;tuned;list;--filtre;3"
    "no option --outptu .did you mean --output;export;stencil7;--outptu;a" "--output is required;export;stencil7"
    "no variant defalt .did you mean default;export;stencil7;--variant;defalt;-o;a"
    "-p chunk=3: parameters belong to a schedule;export;stencil7;-p;chunk=3;-o;a"
    "--extents has 1 number, and stencil7 has 3 dimensions;tune;stencil7;--extents;3;--target;host"
    "--extents has 0, and;tune;stencil7;--extents;0,1,1;--target;host"
    "--extents has 2 numbers, and time/7pt-f32 has 3;tune;time/7pt-f32;--extents;2,2;--target;host"
    "memory runs out;tune;time/7pt-f32;--size;1000000;--target;host")
  list(POP_FRONT bad expected)
  run_bad("[12]" "${expected}" ${bad})
  execute_process(COMMAND "${PROGRAM}" ${bad} WORKING_DIRECTORY "${WORK}" OUTPUT_QUIET ERROR_VARIABLE output)
  if(output MATCHES "[a-z_]+[.]cpp:[0-9]")
    message(FATAL_ERROR "mica ${bad} names a line of Mica's:\n${output}")
  endif()
  expect_fits("${bad}")
endforeach()

# --help of every command ends with an example, which works.
set(ENV{MICA_TUNE_STORE} "${WORK}/tuned.db")
foreach(command IN ITEMS "" list show plan traffic dump ptx export bench "bench;time" fuzz tune tuned "tuned;list" "tuned;show"
                         "tuned;export" "tuned;import" "tuned;forget")
  run_good("\nExample: mica ([^\n]+)\n" ${command} --help)
  expect_fits("${command} --help")
  string(REGEX MATCH "\nExample: mica ([^\n]+)\n" ignored "${output}")
  separate_arguments(example UNIX_COMMAND "${CMAKE_MATCH_1}")
  run_good("" ${example})
endforeach()

# Colours are for terminals, and for those who want them.
find_program(SCRIPT script)
if(SCRIPT)
  string(ASCII 27 escape)
  foreach(case IN ITEMS "TERM=xterm;NO_COLOR=;yes" "TERM=xterm;NO_COLOR=1;no" "TERM=dumb;NO_COLOR=;no")
    list(POP_BACK case wanted)
    execute_process(COMMAND "${CMAKE_COMMAND}" -E env ${case} "${SCRIPT}" -qec "'${PROGRAM}' show pmpp/naive" /dev/null
                    OUTPUT_VARIABLE output RESULT_VARIABLE failed)
    string(FIND "${output}" "${escape}[" at)
    if(failed OR (wanted AND at LESS 0) OR (NOT wanted AND NOT at LESS 0))
      message(FATAL_ERROR "mica show with ${case}: colours at ${at}\n${output}")
    endif()
  endforeach()
endif()
run_good("pmpp/naive: one" show pmpp/naive)
