# Installs the public headers. In the tree they name each other from Mica's root, "dsl/expr/expr.h"; installed
# they say "mica/dsl/expr/expr.h", so that one folder of headers serves a compiler, and no header of a
# program's own is taken for one of Mica's.
# Before: mica_headers_root, mica_headers (from there) and mica_headers_to (in the prefix).
foreach(header IN LISTS mica_headers)
  file(READ "${mica_headers_root}/${header}" text)
  string(REGEX REPLACE "(#include \")(dsl|runtime|codegen|schedules)/" "\\1mica/\\2/" text "${text}")
  set(installed "${CMAKE_INSTALL_PREFIX}/${mica_headers_to}/mica/${header}")
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${installed}")
  set(copy "$ENV{DESTDIR}${installed}")
  set(before "")
  if(EXISTS "${copy}")
    file(READ "${copy}" before)
  endif()
  if(text STREQUAL before)
    message(STATUS "Up-to-date: ${copy}")
  else()
    message(STATUS "Installing: ${copy}")
    file(WRITE "${copy}" "${text}")
    file(CHMOD "${copy}" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  endif()
endforeach()
