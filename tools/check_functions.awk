# Reads C++ sources (tools/check_functions.sh). Comments, strings and preprocessor lines are removed; every brace then
# opens a scope: a namespace, a class, a function body or something else (an initialiser). The text before the brace
# decides which.
BEGIN { longest = 60 }

FNR == 1 { start_file() }

{
  line = strip($0)
  if (line ~ /^[ \t]*#/ || continued) { continued = $0 ~ /\\$/; next }
  while (match(line, /[{};]/)) {
    brace = substr(line, RSTART, 1)
    before = substr(line, 1, RSTART - 1)
    line = substr(line, RSTART + 1)
    add(before)
    if (brace == "{") open_scope()
    else if (brace == "}") close_scope()
    else if (inside() || parentheses(head) > 0) add(";")
    else { declared(head ";"); head = "" }
  }
  add(line " ")
}

END { exit bad }

function start_file() {
  depth = 0; head = ""; head_line = 0; comment = raw = continued = 0; seen_in_file = ""
  folder = FILENAME; sub(/\/[^\/]*$/, "", folder)
}

function scope() { return depth ? kind[depth] : "namespace" }

# Return whether the current scope is a function body or an initialiser. In these only braces are counted.
function inside() { return depth && (kind[depth] == "function" || kind[depth] == "block" || kind[depth] == "init") }

# Append to the text before the next brace, and store the line where it began.
function add(text) {
  if (inside()) return
  if (head == "" && text ~ /[^ \t]/) head_line = FNR
  if (head != "" || text ~ /[^ \t]/) head = head text
}

# Return the line without comments and without the contents of strings and characters.
function strip(line,   out, end) {
  out = ""
  while (line != "") {
    if (comment) {
      end = index(line, "*/")
      if (!end) return out
      comment = 0; line = substr(line, end + 2); continue
    }
    if (raw) {
      end = index(line, raw_end)
      if (!end) return out
      raw = 0; line = substr(line, end + length(raw_end)); out = out "\"\""; continue
    }
    if (!match(line, /\/\/|\/\*|"|'/)) return out line
    out = out substr(line, 1, RSTART - 1)
    found = substr(line, RSTART, RLENGTH)
    line = substr(line, RSTART + RLENGTH)
    if (found == "//") return out
    if (found == "/*") { comment = 1; continue }
    if (found == "\"" && out ~ /(^|[^A-Za-z0-9_])(u8|u|U|L)?R$/) {
      sub(/R$/, "", out)
      end = index(line, "(")
      raw = 1; raw_end = ")" substr(line, 1, end - 1) "\""; line = substr(line, end + 1); continue
    }
    if (found == "'" && out ~ /[0-9a-fA-F]$/ && line ~ /^[0-9a-fA-F]/ && line !~ /^[^']'/) continue  # 1'000'000
    while (line != "" && substr(line, 1, 1) != found) line = substr(line, substr(line, 1, 1) == "\\" ? 3 : 2)
    line = substr(line, 2)
    out = out "\"\""
  }
  return out
}

function parentheses(text,   opened, closed) {
  opened = gsub(/\(/, "(", text); closed = gsub(/\)/, ")", text)
  return opened - closed
}

# Return the text before a brace without leading template parameters, attributes and access specifiers.
function bare(text,   n, i, c) {
  gsub(/\[\[[^]]*\]\]/, "", text); gsub(/alignas\([^()]*\)/, "", text)
  sub(/^[ \t]+/, "", text)
  while (match(text, /^[A-Z_]+\([^()]*\)[ \t]+[^ \t]/)) text = substr(text, RLENGTH)  # a macro with arguments
  while (match(text, /^(public|private|protected)[ \t]*:[ \t]*/)) text = substr(text, RLENGTH + 1)
  while (text ~ /^template[ \t]*</) {
    n = 0
    for (i = index(text, "<"); i <= length(text); ++i) {
      c = substr(text, i, 1)
      if (c == "<") ++n
      if (c == ">" && --n == 0) break
    }
    text = substr(text, i + 1)
    sub(/^[ \t]*(requires[ \t]*\([^()]*\))?[ \t]*/, "", text)
  }
  return text
}

function open_scope(   text, type) {
  if (inside()) { ++depth; kind[depth] = kind[depth - 1] == "init" ? "init" : "block"; return }
  text = bare(head)
  type = "init"
  if (parentheses(head) > 0) type = "init"
  else if (text ~ /^(inline[ \t]+)?namespace([ \t]|$)/ || text ~ /^extern[ \t]+""[ \t]*$/) type = "namespace"
  else if (text ~ /^(typedef[ \t]+)?(class|struct|union|enum)[ \t]/ && text !~ /[(=]/) type = "class"
  else if (text ~ /\)/ && text !~ /^[^(]*[^=!<>(]=[^=]/ && !in_initialisers(text)) type = "function"
  if (type == "class" || type == "function") declared(head)
  ++depth
  kind[depth] = type
  if (type == "namespace" || type == "class" || type == "function") {
    anonymous[depth] = type == "namespace" && text ~ /^namespace[ \t]*$/
    first[depth] = head_line
    signature[depth] = text
    head = ""
  } else if (type == "init") head = head "{"
}

# Return whether the brace belongs to a member in a constructor's initialiser list, as in `: a_(1), b_{2} {`.
function in_initialisers(text) {
  return text ~ /\)[ \t]*(noexcept)?[ \t]*:([^:]|$)/ && text ~ /[:,][ \t]*[A-Za-z_][A-Za-z0-9_:<>, ]*$/
}

function close_scope(   type, lines) {
  if (!depth) return
  type = kind[depth]
  if (type == "function") {
    lines = FNR - first[depth] + 1
    if (lines > longest) {
      print FILENAME ":" first[depth] ": " lines " lines, more than " longest ": " signature[depth]
      bad = 1
    }
  }
  --depth
  if (type == "init") { if (!inside()) head = head "}" }
  else if (type != "block") head = ""
}

# Record the names declared in an anonymous namespace of a source file.
function declared(text,   name, key) {
  if (FILENAME !~ /\.cpp$/ || FILENAME ~ /^examples/ || (alone != "" && FILENAME ~ alone) || !depth || kind[depth] != "namespace" || !anonymous[depth]) return
  text = bare(text)
  name = ""
  if (text ~ /^(using|static_assert|friend|extern|template|namespace)[^A-Za-z_]/) return
  if (match(text, /^(class|struct|union|enum[ \t]+class|enum)[ \t]+[A-Za-z_][A-Za-z0-9_]*/)) {
    if (text ~ /;$/) return
    name = substr(text, RSTART, RLENGTH); sub(/.*[ \t]/, "", name)
    key = name
  } else if (text ~ /\(/ && text !~ /^[^(]*[^=!<>]=[^=]/) {
    if (text ~ /;$/) return
    name = substr(text, 1, index(text, "(") - 1); sub(/[ \t]+$/, "", name); sub(/.*[ \t*&]/, "", name)
    if (name ~ /::/) return
    key = name types_of(text)
  } else {
    sub(/[ \t]*[={;].*/, "", text); sub(/\[.*/, "", text); sub(/[ \t]+$/, "", text)
    name = text; sub(/.*[ \t*&>]/, "", name)
    key = name
  }
  if (name !~ /^[A-Za-z_]/ || name ~ /^[A-Z_]+$/) return
  key = folder SUBSEP key
  if (key in place && place[key] != FILENAME) {
    print FILENAME ":" head_line ": `" name "` is also in the anonymous namespace of " place[key]
    bad = 1
  } else place[key] = FILENAME
}

# Return the parameter types of a function: the parameters without names and default values (not exact for all types).
function types_of(text,   inner) {
  inner = substr(text, index(text, "("))
  sub(/\)[^)]*$/, "", inner)
  gsub(/=[^,]*/, "", inner)
  gsub(/[ \t]+[A-Za-z_][A-Za-z0-9_]*[ \t]*,/, ",", inner)
  sub(/[ \t]+[A-Za-z_][A-Za-z0-9_]*[ \t]*$/, "", inner)
  gsub(/[ \t]+/, "", inner)
  return inner
}
