# heat3d has the orders and the decay that the theory has, the same bits on the host and on the GPU
# emulator, and says what is wrong with bad input.
# PROGRAM: the heat3d executable. WORK: a folder to write to.
include("${CMAKE_CURRENT_LIST_DIR}/run_example.cmake")
run_good("order +in space 2\\.0.*order +in time 1\\.0" --target host --intervals 32 --picture host.png)
expect_picture(host.png)
set(small --intervals 8 --mode 1 1 1)
run_alike("decay" "(decay|space|time) [^\n]*error [^\n]*|decay [^\n]*" ${small} --tolerance 0.2 --time-tile 2)
# An order that is as far off as it may not be fails the program.
run_bad(1 "not those that the theory has" ${small} --tolerance 1e-6 --target host --picture small.png)

set(ENV{MICA_TARGET} host)
run_bad(1 "mode 0" --mode 0 1 1)
run_bad(1 "mode 16 with --intervals 64: half waves are 1 to 15" --mode 16 1 1)
run_bad(2 "intervals" --intervals 1)
run_bad(2 "intervals" --intervals 99999999999999999999)
run_bad(2 "mode" --mode 1 1)
run_bad(2 "time-tile" --time-tile 0)
run_bad(1 "tolerance" --tolerance nan)
run_bad(1 "tolerance" --tolerance 0)
run_bad(2 "unknown" --unknown)
run_bad(1 "gpu9" --target gpu9)
run_bad(1 "cannot write /dev/full" ${small} --picture /dev/full)
run_bad(1 "cannot open" ${small} --picture "${WORK}")
run_good("Example:" --help)
