# The Python package mica (docs/python.md), in <build>/python: for the system's Python, whose pybind11 and NumPy
# scripts/install_packages.sh installs, or for the one that -D Python_EXECUTABLE names.

set(mica_no_python "")  # why it is not built
if(NOT MICA_PYTHON)
  set(mica_no_python "MICA_PYTHON is OFF")
elseif(MICA_SANITIZE OR MICA_STATIC)
  set(mica_no_python "no Python loads a library with a sanitizer or of a bundle")
else()
  find_program(Python_EXECUTABLE python3 PATHS /usr/bin NO_DEFAULT_PATH)
  find_package(Python 3.9 QUIET COMPONENTS Interpreter Development.Module NumPy)
  if(Python_FOUND)
    find_package(pybind11 2.10 QUIET CONFIG)
    if(NOT pybind11_FOUND)
      set(mica_no_python "pybind11 is not installed (pybind11-dev)")
    endif()
  else()
    set(mica_no_python "there is no Python 3.9 or later with its headers and NumPy (python3-dev, python3-numpy)")
  endif()
endif()
if(mica_no_python)
  message(STATUS "The Python package is not built: ${mica_no_python}")
  return()
endif()
message(STATUS "Python package for Python ${Python_VERSION} in ${Python_EXECUTABLE}")

set(mica_python_folder "${PROJECT_BINARY_DIR}/python/mica")
pybind11_add_module(mica_python MODULE NO_EXTRAS tools/python/binding.cpp)
target_link_libraries(mica_python PRIVATE mica mica_settings mica_algorithms)
file(RELATIVE_PATH lib_from_package "/lib/python3/dist-packages/mica" "/${CMAKE_INSTALL_LIBDIR}")
set_target_properties(mica_python PROPERTIES OUTPUT_NAME _mica LIBRARY_OUTPUT_DIRECTORY "${mica_python_folder}"
  INSTALL_RPATH "$ORIGIN/${lib_from_package}")

# In the build folder the sources are links: what is edited is what runs.
file(GLOB mica_python_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/python/mica/*.py"
     "${PROJECT_SOURCE_DIR}/tools/python/mica/*.pyi" "${PROJECT_SOURCE_DIR}/tools/python/mica/py.typed")
file(MAKE_DIRECTORY "${mica_python_folder}")
foreach(source IN LISTS mica_python_sources)
  get_filename_component(name "${source}" NAME)
  file(CREATE_LINK "${source}" "${mica_python_folder}/${name}" SYMBOLIC)
endforeach()
configure_file(tools/python/mica/_version.py.in "${mica_python_folder}/_version.py" @ONLY)

# Debian's Python looks there below /usr and below /usr/local.
set(mica_python_to "lib/python${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}/dist-packages/mica")
install(FILES ${mica_python_sources} "${mica_python_folder}/_version.py" DESTINATION "${mica_python_to}" COMPONENT python)
install(TARGETS mica_python LIBRARY DESTINATION "${mica_python_to}" COMPONENT python)
