# mica tune and mica tuned: a search and the store. PROGRAM: the mica executable. WORK: a folder.
include("${CMAKE_CURRENT_LIST_DIR}/run_example.cmake")
set(ENV{MICA_TUNE_STORE} "${WORK}/tuned.db")

run_good("3 of [0-9]+ candidates measured.*best [0-9.]+ ms" tune stencil7 --target host --size 24 --budget 3 -q
         -o next.json)
file(READ "${WORK}/next.json" schedule)
string(JSON stages ERROR_VARIABLE fault LENGTH "${schedule}" stages)
if(fault)
  message(FATAL_ERROR "next.json is no schedule: ${fault}\n${schedule}")
endif()

# What was found is kept, goes out as JSON and comes back.
run_good("next 24 x 24 x 24 on " tuned list)
run_good("predicted +[0-9.]+ ms" tuned show next)
run_good("" tuned export -o tuned.json)
run_good("1 schedule forgotten" tuned forget next)
run_good("1 schedule taken up" tuned import tuned.json)
run_good("next 24 x 24 x 24 on " tuned list)
run_good("measured" tune stencil7 --target host --size 24 --budget 3 -q --again)

# The step of an iterated stencil: its schedule, and how many steps are taken at once, in one file.
run_good("time/tiles steps=.*5 of [0-9]+ candidates measured.*best [0-9.]+ ms" tune time/5pt-f32 --target host
         --extents 200,100 --budget 5 -q -o steps.json --report steps.html)
expect_page(steps.html "<svg" "rank correlation" "time/5pt-f32 of 200 x 100")
run_good("0 of [0-9]+ candidates measured.*iteration.time_tile.[0-9]+." tune time/5pt-f32 --target emulator --size 4096
         --seconds 4 -q -o steps.json --report steps.html)
expect_page(steps.html "steps at once:" "[.]visible [.]entry")
file(READ "${WORK}/steps.json" schedule)
string(JSON steps ERROR_VARIABLE fault GET "${schedule}" steps)
if(fault OR steps LESS 2)
  message(FATAL_ERROR "steps.json does not take several steps at once: ${fault}\n${schedule}")
endif()

# Ctrl-C ends a search with the best so far, also where it comes twice, to the program and to its group.
execute_process(COMMAND timeout --preserve-status -s INT 4 "${PROGRAM}" tune star25 --target host --size 64 --budget 100000
                --seconds 60 -q --again WORKING_DIRECTORY "${WORK}" RESULT_VARIABLE failed OUTPUT_VARIABLE output)
if(failed OR NOT output MATCHES "best [0-9.]+ ms")
  message(FATAL_ERROR "mica tune, interrupted: ${failed}\n${output}")
endif()

run_bad(1 "did you mean stencil7" tune stencil77)
run_bad(1 "--extents has 2 numbers, and stencil7 has 3" tune stencil7 --extents 4,4 --target host)
run_bad(1 "did you mean time/7pt-f32" tune time/7pt-f23)
run_bad(1 "--extents has 2 numbers, and time/7pt-f32 has 3" tune time/7pt-f32 --extents 4,4 --target host)
run_bad(1 "--extents has 0" tune time/7pt-f32 --extents 4,4,0 --target host)
run_bad(2 "--budget" tune stencil7 --budget -1)
run_bad(1 "--extents has -4" tune stencil7 --extents 4,4,-4 --target host)
run_bad(1 "cannot write /dev/full" tune stencil7 --target host --size 8 --budget 1 -q --report /dev/full)
run_bad(1 "cannot read nothing.json" tuned import nothing.json)
run_bad(1 "name what to forget" tuned forget)
file(WRITE "${WORK}/damaged.db" "this is no database, and long enough that one can see it: 0123456789012345678901234567890123456789")
set(ENV{MICA_TUNE_STORE} "${WORK}/damaged.db")
run_bad(1 "damaged.db" tuned list)
run_good("not kept: .*damaged.db" tune stencil7 --target host --size 8 --budget 1 -q)
set(ENV{MICA_TUNE_STORE} "off")
run_bad(1 "there is no store" tuned list)
