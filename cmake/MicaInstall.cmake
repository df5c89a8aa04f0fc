# cmake --install: libmica, its headers, the tool, and packages for find_package(Mica) and pkg-config.
# Components, which MicaPackages makes .deb files of: lib, dev, tools and, of MicaPython, python.
include(CMakePackageConfigHelpers)

set(mica_public_headers schedules/mica.h codegen/compile.h codegen/export/compile_to_library.h
    codegen/iterate/iteration.h)
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
     "${PROJECT_SOURCE_DIR}/dsl/*.h" "${PROJECT_SOURCE_DIR}/runtime/*.h" "${PROJECT_SOURCE_DIR}/schedules/*.h")
list(FILTER headers EXCLUDE REGEX "^runtime/(cuda/cuda_|export/)")
# Of the tuner, what its callers include.
list(FILTER headers EXCLUDE REGEX "^schedules/tune/[^/]*[.]h$")
list(APPEND headers schedules/tune/tune.h)
list(APPEND mica_public_headers ${headers})
list(REMOVE_DUPLICATES mica_public_headers)
# mica_install_headers(root header...): headers go to <includes>/mica/, from the folder `root`.
function(mica_install_headers root)
  install(CODE "set(mica_headers_root \"${root}\")
set(mica_headers \"${ARGN}\")
set(mica_headers_to \"${CMAKE_INSTALL_INCLUDEDIR}\")" COMPONENT dev)
  install(SCRIPT "${PROJECT_SOURCE_DIR}/cmake/install_headers.cmake" COMPONENT dev)
endfunction()
mica_install_headers("${PROJECT_SOURCE_DIR}" ${mica_public_headers})
mica_install_headers("${PROJECT_SOURCE_DIR}/include/mica" mica.h)

install(TARGETS mica EXPORT MicaTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT lib NAMELINK_COMPONENT dev)
if(TARGET mica_cli)
  install(TARGETS mica_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
  file(RELATIVE_PATH lib_from_bin "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set_target_properties(mica_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${lib_from_bin}")
endif()

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/Mica")
install(EXPORT MicaTargets NAMESPACE Mica:: DESTINATION "${package_folder}" FILE MicaTargets.cmake
  COMPONENT dev)
configure_package_config_file(cmake/MicaConfig.cmake.in "${PROJECT_BINARY_DIR}/cmake/MicaConfig.cmake"
  INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/cmake/MicaConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/cmake/MicaConfig.cmake"
              "${PROJECT_BINARY_DIR}/cmake/MicaConfigVersion.cmake"
  DESTINATION "${package_folder}" COMPONENT dev)

# The prefix is found from where mica.pc lies, so that an installed tree may be moved.
file(RELATIVE_PATH mica_prefix_from_pc "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
configure_file(cmake/mica.pc.in "${PROJECT_BINARY_DIR}/cmake/mica.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/cmake/mica.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT dev)

# License and changes, where Debian looks for them.
foreach(pair IN ITEMS lib:libmica dev:libmica-dev tools:mica-tools python:python3-mica)
  string(REPLACE ":" ";" pair "${pair}")
  list(GET pair 0 component)
  list(GET pair 1 package)
  if(component STREQUAL "python" AND NOT TARGET mica_python)
    continue()
  endif()
  install(FILES NOTICE DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}" RENAME copyright COMPONENT ${component})
  install(FILES LICENSE CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}" COMPONENT ${component})
endforeach()
