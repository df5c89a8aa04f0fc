# blur filters a picture (its test card, and a photograph where MICA_DATA_DIR has it) under five schedules, draws it before
# and after, reads all kinds of PNG files, and says what is wrong with bad input.
# PROGRAM: the blur executable. WORK: a folder to write to.
include("${CMAKE_CURRENT_LIST_DIR}/run_example.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/png_files.cmake")

# expect_size(<file> <width> <height>): each as eight hexadecimal digits.
function(expect_size name)
  file(READ "${WORK}/${name}" size OFFSET 16 LIMIT 8 HEX)
  list(JOIN ARGN "" expected)
  if(NOT size STREQUAL expected)
    message(FATAL_ERROR "${name} is ${size} and not ${expected}, width and height")
  endif()
endfunction()

run_good("1024 x 768 pixels, 3 channels.*agree in every bit.*before and after 8 passes" --target host --out alone.png)
expect_picture(blur.png)
expect_size(blur.png 00000808 00000300)  # 2 x 1024 + 8
expect_size(alone.png 00000400 00000300)
run_good("agree in every bit" alone.png --passes 1 --target host)  # what was written can be read again
set(photograph "$ENV{MICA_DATA_DIR}/rgb_small.png")
if(NOT "$ENV{MICA_DATA_DIR}" STREQUAL "" AND EXISTS "${photograph}")
  run_good("agree in every bit" "${photograph}" --target host)
endif()

set(ENV{MICA_TARGET} host)
run_good("20 x 14 pixels, 3 channels.*agree in every bit" palette.png)
run_good("18 x 13 pixels, 1 channel.*agree in every bit" gray16.png)
# The mean of nine times one pixel is that pixel.
run_good("1 x 1 pixels, 1 channel.*agree in every bit" pixel.png --out once.png)
expect_size(blur.png 0000000a 00000001)
run_good("1 x 1 pixels" once.png --out twice.png)
file(SHA256 "${WORK}/once.png" once)
file(SHA256 "${WORK}/twice.png" twice)
if(NOT once STREQUAL twice)
  message(FATAL_ERROR "a picture of one pixel changes")
endif()

run_bad(1 "cannot open missing.png" missing.png)
run_bad(1 "words.png \\(13 bytes\\): .*PNG" words.png)
run_bad(1 "empty.png \\(0 bytes\\): the file ends" empty.png)
run_bad(1 "cut.png \\(150 bytes\\): the file ends before the picture" cut.png)
run_bad(1 "is a folder" "${WORK}")
run_bad(1 "cannot write /dev/full" palette.png --picture /dev/full)
run_bad(1 "cannot write /dev/full" palette.png --out /dev/full)
run_bad(1 "cannot open" palette.png --picture "${WORK}")
run_bad(2 "passes" --passes 0)
run_bad(2 "passes" --passes nan)
run_bad(2 "passes" --passes -1)
run_bad(2 "passes" --passes 99999999999999999999)
run_bad(2 "unknown" --unknown)
run_bad(1 "host:1" --target host:1)
run_good("Example:" --help)
