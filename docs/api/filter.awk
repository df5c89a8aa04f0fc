# What Doxygen reads of a header. In Mica's headers one comment stands above all overloads of a function: they become a
# group whose members share it. The comment at the head of a file becomes that of the file.

# The function that a declaration on this line declares; "" for none.
function declared(line) {
  sub(/\/\/.*/, "", line)
  if (line ~ /^ *(template|requires|struct|class|enum|union|namespace|using|concept|friend|#)/) return ""
  if (match(line, /operator *[^ (a-zA-Z]+ *\(|operator\(\) *\(|[a-zA-Z_][a-zA-Z_0-9]* *\(/) == 0) return ""
  return substr(line, RSTART, RLENGTH)
}
function close_group() {
  if (group != "") print "///@}"
  group = ""
}
function is_doc(line) { return line ~ /^ *\/\/\/($|[^<\/])/ }

FNR == 1 { at_head = 1 }
at_head && /^\/\// {
  if (FNR == 1) print "/// @file"
  sub(/^\/\//, "///")
  gsub(/#/, "\\#")
  print
  next
}
{ at_head = 0 }
is_doc($0) {
  close_group()
  block = $0
  while ((getline line) > 0 && is_doc(line)) block = block "\n" line
  match(line, /^ */)
  indent = RLENGTH
  group = declared(line)
  if (group != "") print "///@{"
  print block
  print line
  next
}
group != "" {
  match($0, /^ */)
  if (RLENGTH <= indent && declared($0) != group) close_group()
}
{ print }
END { close_group() }
