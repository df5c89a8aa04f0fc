# Target docs: the reference of the public headers by Doxygen, in <build>/docs/html. A test makes it, too.
find_program(MICA_DOXYGEN doxygen)
if(NOT MICA_DOXYGEN)
  return()
endif()
# What mica/mica.h offers.
set(mica_api_headers schedules/registry.h schedules/mica.h codegen/compile.h codegen/iterate/iteration.h
  dsl/expr/diagnostics.h dsl/expr/expr.h dsl/expr/limits.h dsl/expr/operators.h dsl/expr/print.h dsl/expr/type.h
  dsl/func/boundary.h dsl/func/finite_difference.h dsl/func/func.h dsl/func/image_param.h dsl/func/loop_directives.h dsl/func/rdom.h
  dsl/schedule/directives.h dsl/schedule/schedule.h runtime/buffer/buffer.h runtime/buffer/copy_async.h runtime/buffer/dlpack.h
  runtime/run/copy_pipeline.h runtime/run/device.h runtime/run/executable.h runtime/run/gpu_stream.h runtime/run/gpu_timer.h runtime/run/prepared_run.h
  runtime/run/run_options.h runtime/run/target.h)
list(TRANSFORM mica_api_headers PREPEND "${PROJECT_SOURCE_DIR}/")
list(JOIN mica_api_headers " " mica_api_headers)
configure_file("${PROJECT_SOURCE_DIR}/docs/api/Doxyfile.in" "${PROJECT_BINARY_DIR}/Doxyfile" @ONLY)
set(mica_make_docs "${CMAKE_COMMAND}" -D "DOXYGEN=${MICA_DOXYGEN}" -D "DOXYFILE=${PROJECT_BINARY_DIR}/Doxyfile"
  -D "FOLDER=${PROJECT_BINARY_DIR}/docs" -P "${PROJECT_SOURCE_DIR}/docs/api/run.cmake")
add_custom_target(docs COMMAND ${mica_make_docs} VERBATIM COMMENT "Making the reference of the public headers")
if(MICA_TESTS)
  add_test(NAME docs/api COMMAND ${mica_make_docs})
  set_tests_properties(docs/api PROPERTIES LABELS docs TIMEOUT 300)
endif()
