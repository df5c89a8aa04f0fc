# cmake --install: libmica, its headers, the tool, and a package for find_package(Mica).
include(CMakePackageConfigHelpers)

set(mica_public_headers schedules/mica.h codegen/compile.h codegen/iterate/iteration.h)
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
     "${PROJECT_SOURCE_DIR}/dsl/*.h" "${PROJECT_SOURCE_DIR}/runtime/*.h" "${PROJECT_SOURCE_DIR}/schedules/*.h")
list(FILTER headers EXCLUDE REGEX "^runtime/cuda/cuda_")
list(APPEND mica_public_headers ${headers})
list(REMOVE_DUPLICATES mica_public_headers)
foreach(header IN LISTS mica_public_headers)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${header}")
    get_filename_component(folder "${header}" DIRECTORY)
    install(FILES "${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/mica/${folder}")
  endif()
endforeach()
install(FILES include/mica/mica.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/mica")

install(TARGETS mica EXPORT MicaTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET mica_cli)
  install(TARGETS mica_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  file(RELATIVE_PATH lib_from_bin "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  set_target_properties(mica_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${lib_from_bin}")
endif()

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/Mica")
install(EXPORT MicaTargets NAMESPACE Mica:: DESTINATION "${package_folder}" FILE MicaTargets.cmake)
configure_package_config_file(cmake/MicaConfig.cmake.in "${PROJECT_BINARY_DIR}/cmake/MicaConfig.cmake"
  INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/cmake/MicaConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/cmake/MicaConfig.cmake"
              "${PROJECT_BINARY_DIR}/cmake/MicaConfigVersion.cmake" DESTINATION "${package_folder}")
