# Installs the public headers. In the tree they name each other from Mica's root, "dsl/expr/expr.h"; installed
# they say "mica/dsl/expr/expr.h", so that one folder of headers serves a compiler, and no header of a
# program's own is taken for one of Mica's.
# Before: mica_headers_root, mica_headers (from there), mica_headers_stage (a folder to write to) and
# mica_headers_to (in the prefix).
foreach(header IN LISTS mica_headers)
  file(READ "${mica_headers_root}/${header}" text)
  string(REGEX REPLACE "(#include \")(dsl|runtime|codegen|schedules)/" "\\1mica/\\2/" text "${text}")
  set(copy "${mica_headers_stage}/${header}")
  set(before "")
  if(EXISTS "${copy}")
    file(READ "${copy}" before)
  endif()
  if(NOT text STREQUAL before)
    file(WRITE "${copy}" "${text}")
  endif()
  get_filename_component(folder "${header}" DIRECTORY)
  file(INSTALL "${copy}" DESTINATION "${CMAKE_INSTALL_PREFIX}/${mica_headers_to}/mica/${folder}")
endforeach()
