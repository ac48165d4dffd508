# SPDX-License-Identifier: Apache-2.0
# Find the worst patterns of prose in comments (C, shell, CMake, Python) and in Markdown (CONTRIBUTING.md, "Style"). A paragraph must not
# begin with a free relative or with "Of"; "is no NOUN" and the relations "behind" and "beside" are not written at all ("there is no
# driver" is). Code, quotations, headings and questions are skipped. Print FILE:LINE: PATTERN: the line.

function report(line, pattern, shown) { print file ":" line ": " pattern ": " shown }

# End the opening sentence of a paragraph: it is a fault unless it asks.
function end_opening(asks) {
    if (opening && !asks) report(opening, "begins with \"" first "\"", opening_shown)
    opening = 0
}

# Read one line of prose; begins: it is the first of its paragraph.
function prose(text, begins,    padded, word, rest) {
    if (begins) end_opening(0)
    gsub(/`[^`]*`/, "`", text)
    gsub(/"[^"]*"/, "\"", text)
    gsub(/\]\([^)]*\)/, "]", text)
    if (begins && match(text, /^[ *>-]*(What|Who|Whoever|Of) /)) {
        first = substr(text, 1, RLENGTH - 1)
        gsub(/[^A-Za-z]/, "", first)
        opening = FNR
        opening_shown = $0
    }
    if (opening && match(text, /[.?!:|*]( |$|\*)/) && RSTART > 3) end_opening(substr(text, RSTART, 1) == "?" || text ~ /\?/)

    padded = " " text " "
    rest = padded
    gsub(/[Tt]here (is|are|was|were) no /, "", rest)
    while (match(rest, /[ (](is|are|was|were) no [a-z]+/)) {
        word = substr(rest, RSTART, RLENGTH)
        sub(/.* /, "", word)
        if (word !~ /^(longer|more|less|fewer|later|earlier|larger|smaller|higher|lower|better|worse|slower|faster|wider|deeper)$/)
            report(FNR, "\"is no " word "\"", $0)
        rest = substr(rest, RSTART + RLENGTH)
    }
    if (padded ~ /[ (](behind|beside)([ ,;:)]|\.[^a-z])/) report(FNR, "\"behind\" or \"beside\"", $0)
}

# The part of a line before column n is outside of strings.
function is_code(line, n,    head) {
    head = substr(line, 1, n - 1)
    gsub(/\\"|'"'/, "", head)
    return gsub(/"/, "", head) % 2 == 0
}

FNR == 1 {
    end_opening(0)
    file = FILENAME
    kind = file ~ /\.md$/ ? "md" : file ~ /\.(c|h|cpp|hpp)$/ ? "c" : "sh"
    fenced = inside = 0
    blank = 1
}

kind == "md" {
    if (/^```/) { fenced = !fenced; blank = 1; next }
    if (fenced || /^    / && blank) next
    if (/^#/ || /^ *$/) { end_opening(0); blank = 1; next }
    prose($0, blank || /^ *([-*]|[0-9]+\.) /)
    blank = 0
    next
}

kind == "c" {
    line = $0
    if (!inside) {
        if (match(line, /\/\*+|\/\/+/) && is_code(line, RSTART)) {
            inside = substr(line, RSTART, 2) == "/*"
            line = substr(line, RSTART + RLENGTH)
            blank = inside || !was_slashes
            was_slashes = !inside
        } else { was_slashes = 0; next }
    }
    ends = inside && match(line, /\*\//)
    if (ends) line = substr(line, 1, RSTART - 1)
    sub(/^ *\*/, "", line)
    if (line ~ /^[ <]*$/) { end_opening(0); blank = 1 }
    else { prose(line, blank); blank = 0 }
    if (ends) { inside = 0; end_opening(0) }
    next
}

{
    line = $0
    if (line ~ /^ *"""/) { sub(/^ *"""/, "", line); prose(line, 1); next }
    if (match(line, /(^|[ \t])#+ /) && is_code(line, RSTART)) {
        whole = substr(line, 1, RSTART) ~ /^ *#?$/
        prose(substr(line, RSTART + RLENGTH), blank || !whole)
        blank = !whole
    } else { end_opening(0); blank = 1 }
}

END { end_opening(0) }
