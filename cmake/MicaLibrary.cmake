# The library: one object library per layer, linked into libmica.so.

# Sources of a folder and its subfolders; folders in the arguments after it are left out.
function(mica_sources result folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.cpp")
  foreach(without IN LISTS ARGN)
    list(FILTER sources EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/${without}/")
  endforeach()
  set(${result} "${sources}" PARENT_SCOPE)
endfunction()

set(mica_layers "")
# mica_layer(name SOURCES <files> USES <targets>): an object library that goes into libmica.so.
function(mica_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES" ${ARGN})
  if(NOT arg_SOURCES)
    return()
  endif()
  add_library(${name} OBJECT ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE mica_settings ${arg_USES})
  if(MICA_SANITIZE)
    target_compile_options(${name} PRIVATE -O1 -fsanitize=${MICA_SANITIZE})
  endif()
  set(mica_layers ${mica_layers} ${name} PARENT_SCOPE)
endfunction()

mica_sources(dsl_sources dsl)
mica_sources(runtime_sources runtime)
mica_sources(codegen_sources codegen codegen/llvm)
mica_sources(llvm_sources codegen/llvm)
mica_sources(schedules_sources schedules)
set(mica_host_uses TBB::tbb nlohmann_json::nlohmann_json spdlog::spdlog fmt::fmt Threads::Threads)
mica_layer(mica_dsl SOURCES ${dsl_sources} USES nlohmann_json::nlohmann_json fmt::fmt)
mica_layer(mica_runtime SOURCES ${runtime_sources} USES ${mica_host_uses} Boost::context ${CMAKE_DL_LIBS})
mica_layer(mica_codegen SOURCES ${codegen_sources} USES ${mica_host_uses})
mica_layer(mica_llvm SOURCES ${llvm_sources} USES ${mica_host_uses})
mica_layer(mica_schedules SOURCES ${schedules_sources} USES ${mica_host_uses} SQLite::SQLite3)
target_compile_definitions(mica_schedules PRIVATE MICA_VERSION="${PROJECT_VERSION}")
set(mica_forest "${PROJECT_SOURCE_DIR}/schedules/tune/forest.bin")
set_source_files_properties("${PROJECT_SOURCE_DIR}/schedules/tune/forest.cpp" PROPERTIES
  COMPILE_DEFINITIONS "MICA_TUNE_FOREST=\"${mica_forest}\"" OBJECT_DEPENDS "${mica_forest}")

if(TARGET mica_llvm)
  target_include_directories(mica_llvm SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
  separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  target_compile_definitions(mica_llvm PRIVATE ${llvm_definitions})
endif()
# What exported pipelines are linked to, in C and without any of Mica's own settings: it runs in programs
# of others. libmica holds the archive (codegen/export/runtime_files.cpp) and writes it into each library.
file(GLOB export_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/runtime/export/*.c")
string(REPLACE "." "_" mica_runtime_prefix "mica_${PROJECT_VERSION}_")
add_library(mica_export_runtime STATIC EXCLUDE_FROM_ALL ${export_sources})
target_include_directories(mica_export_runtime PRIVATE "${PROJECT_SOURCE_DIR}")
target_compile_definitions(mica_export_runtime PRIVATE _GNU_SOURCE MICA_RUNTIME_PREFIX=${mica_runtime_prefix})
target_compile_options(mica_export_runtime PRIVATE -std=gnu11 -O2 -g0 -fPIC -fvisibility=hidden
  -ffp-contract=off -Wall -Wextra -Wshadow $<$<BOOL:${MICA_WERROR}>:-Werror>)
set(mica_abi_header "${PROJECT_SOURCE_DIR}/runtime/export/abi.h")
set_source_files_properties("${PROJECT_SOURCE_DIR}/codegen/export/runtime_files.cpp" PROPERTIES
  COMPILE_DEFINITIONS "MICA_EXPORT_ARCHIVE=\"$<TARGET_FILE:mica_export_runtime>\";MICA_EXPORT_ABI_HEADER=\"${mica_abi_header}\""
  OBJECT_DEPENDS "${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/libmica_export_runtime.a;${mica_abi_header}")
set_source_files_properties(
  "${PROJECT_SOURCE_DIR}/codegen/export/c_header.cpp" "${PROJECT_SOURCE_DIR}/codegen/llvm/export_objects.cpp"
  PROPERTIES COMPILE_DEFINITIONS
  "MICA_VERSION=\"${PROJECT_VERSION}\";MICA_RUNTIME_PREFIX=\"${mica_runtime_prefix}\"")
add_dependencies(mica_codegen mica_export_runtime)

llvm_map_components_to_libnames(llvm_libraries
  core support passes scalaropts transformutils instcombine irreader
  nvptxcodegen nvptxinfo nvptxdesc x86codegen x86info x86desc x86asmparser object orcjit native)

if(NOT mica_layers)  # nothing to link yet
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/empty.cpp" CONTENT "")
  set(mica_empty "${PROJECT_BINARY_DIR}/empty.cpp")
endif()
add_library(mica SHARED ${mica_empty})
add_library(Mica::mica ALIAS mica)
foreach(layer IN LISTS mica_layers)
  target_sources(mica PRIVATE $<TARGET_OBJECTS:${layer}>)
endforeach()
target_include_directories(mica INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(mica INTERFACE cxx_std_20)
target_link_libraries(mica PRIVATE mica_settings ${llvm_libraries} ${mica_host_uses} SQLite::SQLite3 Boost::context ${CMAKE_DL_LIBS})
# Only mica:: is exported, so a program may use an LLVM of its own.
set(mica_exports "${PROJECT_SOURCE_DIR}/cmake/exports.map")
target_link_options(mica PRIVATE
  -Wl,--no-undefined -Wl,--exclude-libs,ALL "-Wl,--version-script=${mica_exports}")
set_target_properties(mica PROPERTIES
  LINKER_LANGUAGE CXX LINK_DEPENDS "${mica_exports}"
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
