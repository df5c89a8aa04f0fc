# check_page finds what is wrong in a page, and only that.
# CHECK: the program. PROGRAM, SOURCE: a lesson and its source. WORK: a folder to write to.
file(MAKE_DIRECTORY "${WORK}")
function(expect status pattern text)
  file(WRITE "${WORK}/page.md" "${text}")
  execute_process(COMMAND "${CHECK}" "${WORK}/page.md" --source "${SOURCE}" --program "${PROGRAM}" --bin "${WORK}"
                  --mentions one RESULT_VARIABLE failed ERROR_VARIABLE message)
  if(NOT failed EQUAL ${status} OR NOT message MATCHES "${pattern}")
    message(FATAL_ERROR "${failed} and not ${status} with \"${pattern}\" for:\n${text}\n${message}")
  endif()
endfunction()
set(output "```output\n   0   0   0   0   0   0   0   0\n   0   0   0  25   0   0   0   0\n...\n```\n")
expect(0 "^$" "one [link](page.md)\n```cpp\nVar x(\"x\"), y(\"y\");\n```\n${output}")
expect(1 "there is no .*missing.md" "one [link](missing.md)\n${output}")
expect(1 "says nothing of one" "${output}")
expect(1 "stands in no source" "one\n```cpp\nVar x(\"x\"), z(\"z\");\n```\n${output}")
expect(1 "output on host differs at its line 1" "one\n```output\n   0   0   0   0   0   0   0   1\n...\n```\n")
expect(1 "output on host differs at its line 3" "one\n```output\n...\n   0   0   0  25   0   0   0   0\n```\n")
expect(0 "^$" "one\n${output}```console\n$ echo 1\n1\n```\n")
expect(1 "echo 1 differs" "one\n${output}```console\n$ echo 1\n2\n```\n")
expect(0 "^$" "one\n${output}```console figures-vary\n$ echo 1.5 ms\n27  ms\n```\n")
expect(1 "echo 1.5 ms differs" "one\n${output}```console figures-vary\n$ echo 1.5 ms\n27 s\n```\n")
expect(1 "false failed" "one\n${output}```console\n$ false\n```\n")

# A heading that a link leads to, and what is written anew.
expect(1 "has no heading for #no-such" "one [link](page.md#no-such)\n${output}")
expect(0 "^$" "one [link](page.md#some-heading-of-it)\n# Some heading, of it\n${output}")
file(WRITE "${WORK}/page.md" "one\n```output\n   0   0   0   0   0   0   0   0\nstale\n```\n```console\n$ echo 1\n2\n```\nend\n")
execute_process(COMMAND "${CHECK}" "${WORK}/page.md" --program "${PROGRAM}" --bin "${WORK}" --write yes
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(READ "${WORK}/page.md" page)
if(NOT page MATCHES "^one\n```output\n   0   0[^`]*   0  25[^`]*   0\n```\n```console\n[$] echo 1\n1\n```\nend\n$" OR
   page MATCHES "stale")
  message(FATAL_ERROR "check_page --write has written\n${page}")
endif()
