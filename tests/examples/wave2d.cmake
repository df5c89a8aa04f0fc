# wave2d gives the same bits on the host and on the GPU emulator, and a picture.
# PROGRAM: the wave2d executable. WORK: a folder to write to. With MICA_DATA_DIR set the model is
# Marmousi, otherwise the built-in one.
file(MAKE_DIRECTORY "${WORK}")
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

# Bad input ends with a message, not with a picture.
foreach(bad IN ITEMS "--model;${WORK}/missing.raw" "--model;${WORK}/host.raw;--shape;10;10" "--target;gpu9")
  execute_process(COMMAND "${PROGRAM}" ${bad} --steps 1 --picture "${WORK}/bad.png"
                  RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE message)
  if(NOT failed EQUAL 1 OR NOT message MATCHES "wave2d: ")
    message(FATAL_ERROR "wave2d ${bad} should have ended with a message, but: ${failed} ${message}")
  endif()
endforeach()
