# Programs over libmica: examples, the mica tool with its benchmarks, CUDA twins, Halide peers.

# mica_program(target SOURCES <files> USES <targets>)
function(mica_program target)
  cmake_parse_arguments(arg "" "" "SOURCES;USES" ${ARGN})
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE mica mica_settings ${arg_USES})
endfunction()

# Plots and PNG files, for the examples and the benchmarks: an archive, so that a program has what it uses, and needs
# cairo if it draws.
if(MICA_EXAMPLES OR MICA_TOOLS)
  mica_sources(picture_sources tools/pictures)
  add_library(mica_pictures STATIC ${picture_sources})
  target_link_libraries(mica_pictures PUBLIC mica mica_settings PNG::PNG PRIVATE Cairo::Cairo)
endif()

# Every folder examples/<name>/ is a program of that name; examples/common/ is shared by them.
if(MICA_EXAMPLES)
  mica_sources(common_sources examples/common)
  if(common_sources)
    add_library(mica_examples_common STATIC ${common_sources})
    target_link_libraries(mica_examples_common PUBLIC mica_pictures)
  endif()
  file(GLOB example_folders CONFIGURE_DEPENDS LIST_DIRECTORIES true
       RELATIVE "${PROJECT_SOURCE_DIR}/examples" "${PROJECT_SOURCE_DIR}/examples/*")
  list(REMOVE_ITEM example_folders common)
  foreach(name IN LISTS example_folders)
    mica_sources(sources "examples/${name}")
    if(sources)
      mica_program(${name} SOURCES ${sources} USES $<TARGET_NAME_IF_EXISTS:mica_examples_common> mica_pictures)
    endif()
  endforeach()
endif()

# Every docs/tutorial/lesson_*.cpp is a program of that name.
set(mica_lessons "")
if(MICA_EXAMPLES)
  file(GLOB lesson_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/tutorial/lesson_*.cpp")
  foreach(source IN LISTS lesson_sources)
    get_filename_component(name "${source}" NAME_WE)
    mica_program(${name} SOURCES "${source}")
    list(APPEND mica_lessons ${name})
  endforeach()
endif()

# The oracle, random programs and schedules, and the search for differences, for the tests and the tool.
if(MICA_TOOLS OR MICA_TESTS)
  mica_sources(fuzz_sources fuzz)
  set(libfuzzer_main "${PROJECT_SOURCE_DIR}/fuzz/libfuzzer_main.cpp")
  list(REMOVE_ITEM fuzz_sources "${libfuzzer_main}")
  add_library(mica_fuzz STATIC ${fuzz_sources})
  target_link_libraries(mica_fuzz PUBLIC mica mica_settings PRIVATE SQLite::SQLite3)
  if(MICA_LIBFUZZER)
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16)
      message(FATAL_ERROR "MICA_LIBFUZZER needs clang 16 or later")
    endif()
    mica_program(mica_libfuzzer SOURCES "${libfuzzer_main}" USES mica_fuzz)
    target_link_options(mica_libfuzzer PRIVATE -fsanitize=fuzzer)
  endif()
endif()

# Algorithms by name.
if(MICA_TOOLS OR MICA_PYTHON)
  file(GLOB algorithm_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/algorithms*.cpp")
  # Algorithms of examples that are timed: a test says which.
  list(APPEND algorithm_sources examples/cavity/relaxation.cpp examples/local_laplacian/filter.cpp
    examples/multigrid/equation.cpp bench/model/measured.cpp bench/time_steps.cpp)
  add_library(mica_algorithms STATIC ${algorithm_sources})
  target_link_libraries(mica_algorithms PUBLIC mica mica_settings)
endif()

if(MICA_TOOLS)
  mica_sources(bench_sources bench bench/halide bench/twins bench/model)
  list(REMOVE_ITEM bench_sources ${algorithm_sources})
  if(bench_sources)
    add_library(mica_bench OBJECT ${bench_sources})
    target_link_libraries(mica_bench PUBLIC mica_algorithms mica_pictures
      benchmark::benchmark nlohmann_json::nlohmann_json fmt::fmt Threads::Threads
      ${CMAKE_DL_LIBS})
  endif()
  # What the tuner's model learns from: see bench/model/fit.py.
  add_executable(mica_figures EXCLUDE_FROM_ALL bench/model/figures.cpp)
  target_link_libraries(mica_figures PRIVATE mica_algorithms fmt::fmt)
  mica_sources(tool_sources tools/mica)
  if(tool_sources)
    mica_program(mica_cli SOURCES ${tool_sources}
      USES mica_fuzz $<TARGET_NAME_IF_EXISTS:mica_bench> CLI11::CLI11 nlohmann_json::nlohmann_json fmt::fmt)
    set_target_properties(mica_cli PROPERTIES OUTPUT_NAME mica)
  endif()
endif()

# Hand-written CUDA kernels to time against, as twins/<name>.cubin beside bin/.
find_program(MICA_NVCC nvcc HINTS /usr/local/cuda/bin "$ENV{CUDA_HOME}/bin")
if(MICA_TWINS AND MICA_NVCC)
  file(GLOB twin_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/twins/*.cu")
  foreach(source IN LISTS twin_sources)
    get_filename_component(name "${source}" NAME_WE)
    set(cubin "${PROJECT_BINARY_DIR}/twins/${name}.cubin")
    add_custom_command(OUTPUT "${cubin}"
      COMMAND "${CMAKE_COMMAND}" -E make_directory "${PROJECT_BINARY_DIR}/twins"
      COMMAND "${MICA_NVCC}" -cubin -arch=sm_90 -O3 -std=c++17 -fmad=false "-I${PROJECT_SOURCE_DIR}" -MD -MF "${cubin}.d" -o "${cubin}" "${source}"
      DEPENDS "${source}" DEPFILE "${cubin}.d" COMMENT "Compiling CUDA twin ${name}" VERBATIM)
    list(APPEND twin_cubins "${cubin}")
  endforeach()
  if(twin_cubins)
    add_custom_target(mica_twins ALL DEPENDS ${twin_cubins})
  endif()
endif()

# The same pipelines in Halide, one program per file. Halide's own package would bring a second LLVM.
if(MICA_HALIDE_BENCH)
  find_path(MICA_HALIDE_INCLUDE Halide.h PATH_SUFFIXES Halide14 halide14 REQUIRED)
  find_library(MICA_HALIDE_LIBRARY NAMES Halide14 Halide REQUIRED)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  file(GLOB halide_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/halide/*.cpp")
  foreach(source IN LISTS halide_sources)
    get_filename_component(name "${source}" NAME_WE)
    add_executable(halide_${name} "${source}")
    target_include_directories(halide_${name} SYSTEM PRIVATE "${MICA_HALIDE_INCLUDE}")
    target_compile_options(halide_${name} PRIVATE -O3 -march=native)  # for the plain loops that both are compared with
    target_link_libraries(halide_${name} PRIVATE mica "${MICA_HALIDE_LIBRARY}" OpenMP::OpenMP_CXX Threads::Threads ${CMAKE_DL_LIBS})
  endforeach()
endif()
