# Asks ctest what it knows of the tests: those of the folder perf run alone, since their times are compared,
# those of the folder gpu one at a time, and those of fuzz begin first. Expects CTEST and BUILD.
function(expect_on_each folder property)
  execute_process(COMMAND "${CTEST}" --show-only=json-v1 -R "^${folder}/" WORKING_DIRECTORY "${BUILD}"
    OUTPUT_VARIABLE json COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "\"name\" : \"${folder}/" tests "${json}")
  string(REGEX MATCHALL "\"name\" : \"${property}\"" properties "${json}")
  list(LENGTH tests tests)
  list(LENGTH properties properties)
  if(tests EQUAL 0 OR NOT tests EQUAL properties)
    message(SEND_ERROR "${properties} of the ${tests} tests of ${folder} have ${property}")
  endif()
endfunction()

expect_on_each(perf RUN_SERIAL)
expect_on_each(gpu RESOURCE_LOCK)
expect_on_each(fuzz COST)
foreach(folder IN ITEMS unit perf gpu fuzz)
  expect_on_each(${folder} ENVIRONMENT_MODIFICATION)
endforeach()
