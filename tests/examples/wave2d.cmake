# wave2d gives the same bits on the host and on the GPU emulator, and a picture.
# PROGRAM: the wave2d executable. WORK: a folder to write to. With MICA_DATA_DIR set the model is
# Marmousi, otherwise the built-in one.
include("${CMAKE_CURRENT_LIST_DIR}/run_example.cmake")
set(model)
set(marmousi "$ENV{MICA_DATA_DIR}/marmousi_vp_1601x401_f32.raw")
if(NOT "$ENV{MICA_DATA_DIR}" STREQUAL "" AND EXISTS "${marmousi}")
  set(model --model "${marmousi}" --shape 1601 401 --spacing 7.5)
endif()
foreach(target IN ITEMS host emulator)
  execute_process(
    COMMAND "${PROGRAM}" ${model} --steps 40 --target ${target} --picture "${WORK}/${target}.png"
            --wavefield "${WORK}/${target}.raw"
    RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    message(FATAL_ERROR "wave2d --target ${target} failed:\n${output}")
  endif()
  message(STATUS "${output}")
  file(SIZE "${WORK}/${target}.png" bytes)
  if(bytes LESS 2000)
    message(FATAL_ERROR "the picture of ${target} has only ${bytes} bytes")
  endif()
  file(SHA256 "${WORK}/${target}.raw" hash_${target})
endforeach()
if(NOT hash_host STREQUAL hash_emulator)
  message(FATAL_ERROR "the wavefields of the host and the emulator differ")
endif()

# npy(<name> <version> <shape> <samples>...): an NPY file; each sample is the four bytes of a float32, or of what
# `type` says.
set(type "<f4")
function(npy name version shape)
  set(header "{'descr': '${type}', 'fortran_order': False, 'shape': ${shape}, }")
  string(LENGTH "${header}" length)
  math(EXPR length "${length}" OUTPUT_FORMAT HEXADECIMAL)
  string(REPLACE "0x" "\\x" length "${length}")
  set(length "${length}\\x00")
  if(version GREATER 1)
    string(APPEND length "\\x00\\x00")
  endif()
  string(REPLACE ";" "" samples "${ARGN}")
  execute_process(COMMAND env printf "\\x93NUMPY\\x0${version}\\x00${length}${header}${samples}"
                  OUTPUT_FILE "${WORK}/${name}.npy" COMMAND_ERROR_IS_FATAL ANY)
endfunction()
set(fast "\\x00\\x00\\xfa\\x44")      # 2000
set(infinite "\\x00\\x00\\x80\\x7f")
set(not_a_number "\\x00\\x00\\xc0\\x7f")
string(REPEAT "${fast}" 29 row)
string(REPEAT "${row}${fast}" 30 square)
foreach(version IN ITEMS 1 2 3)
  npy(good${version} ${version} "(30, 30)" "${square}")
  execute_process(COMMAND "${PROGRAM}" --model "${WORK}/good${version}.npy" --steps 2 --target host
                  --picture "${WORK}/good.png" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE message)
  if(failed)
    message(FATAL_ERROR "an NPY file of version ${version} is refused: ${message}")
  endif()
endforeach()
npy(version0 0 "(1, 30)" "${row}${fast}")
npy(version9 9 "(1, 30)" "${row}${fast}")
npy(empty 1 "(0, 30)")
npy(digits 1 "(1, 12345678901234567890)" "${row}${fast}")
npy(negative 1 "(-1, -30)" "${row}${fast}")
npy(words 1 "(1, 30x)" "${row}${fast}")
npy(wrapped 1 "(1000000000, 1000000000, 1000000000)")
npy(infinite 1 "(1, 30)" "${row}${infinite}")
npy(not_a_number 1 "(1, 30)" "${row}${not_a_number}")
npy(line 1 "(30,)" "${row}${fast}")
npy(truncated 1 "(1, 30)" "${row}")
foreach(type IN ITEMS ">f4" "<f8" "<i4")
  string(MAKE_C_IDENTIFIER "${type}" name)
  npy(type${name} 1 "(1, 30)" "${row}${fast}")
endforeach()

# Bad input (what the message says, then the command line) ends with a message that names what is wrong.
set(ENV{MICA_TARGET} host)
foreach(bad IN ITEMS
    "cannot read;--model;${WORK}/missing.raw" "check the shape;--model;${WORK}/host.raw;--shape;10;10"
    "gpu9;--target;gpu9" "it is a folder;--model;${WORK}" "version 0;--model;${WORK}/version0.npy"
    "version 9;--model;${WORK}/version9.npy" "extent of 0: it holds no samples;--model;${WORK}/empty.npy"
    "12345678901234567890;--model;${WORK}/digits.npy" "-1.* in the shape;--model;${WORK}/negative.npy"
    "30x;--model;${WORK}/words.npy" "2\\^48 samples;--model;${WORK}/wrapped.npy"
    "velocity inf at sample 29;--model;${WORK}/infinite.npy"
    "velocity -?nan at sample 29;--model;${WORK}/not_a_number.npy" "1 dimensions;--model;${WORK}/line.npy"
    "116 bytes of samples, and the shape needs 120;--model;${WORK}/truncated.npy"
    "holds >f4. a float32 array .<f4. is needed;--model;${WORK}/type_f4.npy" "holds <f8;--model;${WORK}/type_f8.npy"
    "holds <i4;--model;${WORK}/type_i4.npy" "shape 0 0;--shape;0;0" "shape -5 10;--shape;-5;10" "shape 1 2000000000;--shape;1;2000000000"
    "shape;--shape;12345678901234567890;1" "spacing 0;--spacing;0" "spacing -1;--spacing;-1"
    "spacing -?nan;--spacing;nan" "spacing inf;--spacing;inf" "spacing;--spacing;1e400"
    "frequency -3;--frequency;-3" "frequency -?nan;--frequency;nan" "frequency inf;--frequency;inf"
    "source-depth;--source-depth;nan" "source-depth;--source-depth;1.5"
    "source-distance;--source-distance;nan" "steps;--steps;0" "steps;--steps;nan"
    "steps;--steps;99999999999999999999" "cannot write /dev/full;--picture;/dev/full;--shape;20;20"
    "cannot write /dev/full;--wavefield;/dev/full;--shape;20;20" "cannot open;--picture;${WORK}")
  list(POP_FRONT bad expected)
  run_bad("[12]" "${expected}" ${bad})
endforeach()
execute_process(COMMAND "${PROGRAM}" --target host --steps 1 --shape 20 20 --picture "${WORK}/good.png"
                RESULT_VARIABLE failed OUTPUT_FILE /dev/full ERROR_VARIABLE message)
if(NOT failed EQUAL 1 OR NOT message MATCHES "wave2d: what was to be printed")
  message(FATAL_ERROR "wave2d with nowhere to print should say so, but: ${failed} ${message}")
endif()
