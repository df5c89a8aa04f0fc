# The pages of mica show --html and mica tune --report: what they say and, where Chromium is installed, what it makes
# of them. PROGRAM: the mica executable. WORK: a folder. BROWSER: they are opened, too, and nothing else is looked at.
include("${CMAKE_CURRENT_LIST_DIR}/run_example.cmake")

if(BROWSER STREQUAL "none")
  message(STATUS "skipped: there is no Chromium to open pages in")
  return()
endif()

# open_page(<file> <pattern>...): the browser finds no fault (page_layout.js), and the document that it made has the
# patterns.
file(READ "${CMAKE_CURRENT_LIST_DIR}/page_layout.js" script)
function(open_page name)
  file(READ "${WORK}/${name}" page)
  string(REPLACE "default-src 'none'" "default-src 'none'; script-src 'unsafe-inline'" page "${page}")  # for our script
  string(REPLACE "</head>" "<script>${script}</script></head>" page "${page}")
  file(WRITE "${WORK}/opened_${name}" "${page}")
  execute_process(COMMAND "${BROWSER}" --headless --no-sandbox --disable-gpu --window-size=1200,1000 --user-data-dir=${WORK}/browser
                          --virtual-time-budget=1000 --dump-dom "file://${WORK}/opened_${name}"
                  RESULT_VARIABLE failed OUTPUT_VARIABLE dom ERROR_QUIET TIMEOUT 60)
  foreach(part IN ITEMS "data-page=\"good\"" ${ARGN})
    if(failed OR NOT dom MATCHES "${part}")
      string(REGEX MATCH "data-page=\"[^\"]*\"" faults "${dom}")
      message(FATAL_ERROR "${name} in ${BROWSER} lacks ${part}: ${failed} ${faults}")
    endif()
  endforeach()
endfunction()

function(show page name)
  run_good("page ${page}" show ${name} --html ${page} ${ARGN})
endfunction()
show(plane.html march/plane --algorithm stencil7 -p tile_x=32 tile_y=8 vec=4 rows=1 chunk=64 ahead=2)
show(column.html march/high-order)
show(tile.html blur/shared-tile)
show(box.html tile/read-only)
show(naive.html pmpp/naive)
show(row.html jacobi2d/row-window)
show(sums.html fd3d/one-pass)
show(time.html 7pt-f32 -p steps=3)
show(long.html 5pt-f32 -p steps=16)
show(host.html host/rows)
show(strips.html blur/cpu-tile)
set(ENV{MICA_TUNE_STORE} "off")
run_good("page tuned.html" tune stencil7 --target host --size 24 --budget 3 -q --report tuned.html)
run_good("page gpu.html" tune star25 --target emulator --size 512 -q --report gpu.html)

if(BROWSER)
  open_page(plane.html "<h1>march/plane</h1>" "ring of 5 planes; shared, [0-9]+ bytes</text>")
  open_page(time.html "<h3>Kernel next·t3</h3>" ">x: 120 of 128</text>")
  open_page(tuned.html "<h2>The winner</h2>" "</tbody></table>" "operations a byte</text>")
  open_page(gpu.html "nothing was measured" "<h2>The winner</h2>")
  foreach(name IN ITEMS column tile box naive row sums long host strips)
    open_page(${name}.html "<h2>What it does</h2>")
  endforeach()
  return()
endif()

# A march: tile, halo, ring, who reads what.
expect_page(plane.html ">x: 1 [+] 128 [+] 1 = 130<" ">y: 1 [+] 8 [+] 1 = 10<" ">u.staged: 130 x 10 points, shared memory<"
            ">one of 32 x 8 threads: 4 x 1 points<" ">ring of 5 planes; shared, [0-9]+ bytes<" "<td>-1 to [+]3: ring of 5</td>"
            "<title>u.staged, plane [+]3: asked for</title>" "<title>u.staged, plane [+]2: asked for before</title>"
            "<title>u.staged, plane -1: read</title>" "<title>next, plane 0: stored</title>" "<td>u.staged: 7 shared</td>"
            "march z, chunks of 64" "<summary>Plan</summary>" "<summary>Figures</summary>" "[.]visible [.]entry")
# A column in registers beside a plane in shared memory.
expect_page(column.html ">ring of 9 planes; 36 registers<" ">ring of 3 planes; shared, 27648 bytes<" ">x: 4 [+] 128 [+] 4 = 136<"
            "<title>u.window, plane -4: read</title>")
# Tiles without a march, in two and three dimensions and of one point a thread.
expect_page(tile.html ">y: 1 [+] 8 [+] 1 = 10<" ">blur_x.staged: 32 x 10 points, shared memory<" "<h3>Kernel blur_y</h3>")
expect_page(box.html ">z: 1 [+] 4 [+] 1 = 6<" ">u.staged: 34 x 10 x 6 points, shared memory<")
expect_page(naive.html ">next: 32 x 8 x 1 points, stored<" ">one of 32 x 8 threads: 1 point<")
file(READ "${WORK}/naive.html" page)
if(page MATCHES "ring of|asked for")
  message(FATAL_ERROR "a march in a schedule that has none: ${CMAKE_MATCH_0}")
endif()
# A march in two dimensions: a block is a row.
expect_page(row.html ">x: 1 [+] 256 [+] 1 = 258<" ">ring of 4 planes; shared, 8320 bytes<" "A block in one step, along x[.]<")
# Partial sums, and levels of a time tile, each a plane behind the one before; blocks overlap.
expect_page(sums.html ">ring of 3 planes; shared, 69120 bytes<" "<title>next.sum7, plane 0: its place is filled next</title>")
expect_page(time.html ">x: 120 of 128<" ">y: 30 of 36<" "<title>next·t1, plane [+]2: filled</title>" "<title>next·t2, plane [+]1: filled</title>"
            "<title>next·t3, plane 0: stored</title>" ">ring of 4 planes; shared, 73728 bytes<")
# Loops of the host have no plan.
expect_page(host.html "there is no kernel and no plan of one" ">next: all of x, all of y, 4 of z, a tile<" ">computed at once: 16 x 1 x 1 points<")
expect_page(strips.html "there is no kernel" ">blurred: 256 x 8 points, a tile<")
# Searches: the roofs, and each candidate below them.
expect_page(tuned.html "What was measured" "rank correlation" ">operations a byte<" "GB/s, measured" "no schedule: [0-9.e+]+ [*] 10.9 operations a second")
expect_page(gpu.html ">operations a byte<" "nothing was measured" "whose roof is dashed, 57000 GB/s" "a byte from the L2</title>" "<summary>Plan</summary>"
            "[.]visible [.]entry")

run_bad(1 "cannot write /dev/full" show pmpp/naive --html /dev/full)
run_bad(2 "--html" show pmpp/naive --json --html x.html)
run_bad(1 "steps=1: a time tile has 2 to 64 steps" show 7pt-f32 -p steps=1)
run_bad(1 "stepss: a time tile has no such parameter; did you mean steps|stepss" show 7pt-f32 -p stepss=2)
