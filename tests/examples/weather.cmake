# weather has the bits of plain loops, solves its columns and has the order of its scheme, on the host and
# on the GPU emulator with the same numbers, and says what is wrong with bad input.
# PROGRAM: the weather executable. WORK: a folder to write to.
include("${CMAKE_CURRENT_LIST_DIR}/run_example.cmake")
set(checks "0 of [0-9]+ points differ from plain loops: right.*of a wave[^\n]*: right.*solved [^\n]*: right.*order 2\\.0")
run_good("${checks}.*diffusion [0-9.]+ billion points/s.*advection [0-9.]+ billion points/s" --target host
         --grid 61 34 21 --steps 2 --picture host.png)
expect_picture(host.png)
run_alike("${checks}" "[^\n]*(right|WRONG)" --grid 13 9 5 --steps 1)

set(ENV{MICA_TARGET} host)
set(small --grid 5 5 1 --steps 1)
run_good("0 of 25 points differ" ${small})
run_good("5 x 8 x 2 points" --grid 5 8 2 --steps 1)
run_bad(1 "grid 1 1 1: give 5 to 16384 points along x and y.* and 1 to 16384 levels" --grid 1 1 1)
run_bad(1 "grid 5 4 1" --grid 5 4 1)
run_bad(1 "grid 5 5 0" --grid 5 5 0)
run_bad(1 "grid -5 5 1" --grid -5 5 1)
run_bad(1 "grid 16385 5 1" --grid 16385 5 1)
run_bad(2 "grid" --grid 5 5)
run_bad("[12]" "grid" --grid 99999999999999999999 5 5)
run_bad(2 "steps" --steps 0)
run_bad(2 "unknown" --unknown)
run_bad(1 "gpu9" --target gpu9)
run_bad(1 "cannot write /dev/full" ${small} --picture /dev/full)
run_bad(1 "cannot open" ${small} --picture "${WORK}")
run_good("Example:" --help)
