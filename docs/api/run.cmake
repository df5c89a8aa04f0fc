# Makes the reference, and fails where Doxygen warns: of a comment that it cannot follow, of a type or file without one.
# That a member of a documented type has no comment of its own is allowed: `name()` says what it is.
# Usage: cmake -D DOXYGEN=<program> -D DOXYFILE=<file> -D FOLDER=<of the output> -P run.cmake
file(MAKE_DIRECTORY "${FOLDER}")
execute_process(COMMAND "${DOXYGEN}" "${DOXYFILE}" COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS "${FOLDER}/warnings.txt" warnings)
list(FILTER warnings EXCLUDE REGEX "warning: Member .* is not documented")
if(warnings)
  list(JOIN warnings "\n" warnings)
  message(FATAL_ERROR "${warnings}")
endif()
if(NOT EXISTS "${FOLDER}/html/classmica_1_1Func.html")
  message(FATAL_ERROR "the reference has no page of Func")
endif()
message(STATUS "${FOLDER}/html/index.html")
