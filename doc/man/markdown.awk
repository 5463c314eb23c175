# awk -v srcdir=DIR -f markdown.awk PAGE: replaces a line such as @doc/protocol.md@ of a page by that document, turned
# from Markdown into scdoc, and @src/base/metrics.def@ or @src/top/top_actions.c@ by the entries of that table. After
# @src/conf/keys.def@, each key of a section "Keys of [...]" begins with the help of its row.
# Knows the Markdown of doc/protocol.md and doc/recipes.md and no other: headings,
# paragraphs, lists of one level, tables, fenced blocks, `code`, **strong**, *emphasis* and [links](to).
# A <!-- mark: name --> is for the tests and left out; with any other <!-- comment -->, so is the paragraph below it.

# ---- text ----

function escaped(text)
{
    gsub(/[\\*_]/, "\\\\&", text)
    return text
}

function plain(text)
{
    gsub(/`/, "", text)
    return text
}

# One paragraph, item or cell. scdoc nests nothing: emphasis with code in it is left out, and
# there is none inside of **strong**.
function inline(text,    out, c, in_code, emphasis, i, n)
{
    n = length(text)
    for (i = 1; i <= n; i++) {
        c = substr(text, i, 1)
        if (c == "`") {
            in_code = !in_code
            out = out "*"
        } else if (in_code) {
            out = out escaped(c)
        } else if (substr(text, i, 2) == "**") {
            out = out "*"
            i++
        } else if (c == "*" && emphasis != "") {
            out = out (emphasis == "_" ? "_" : "")
            emphasis = ""
        } else if (c == "*" && match(substr(text, i), /^\*[^ *][^*]*\*/)) {
            emphasis = index(substr(text, i, RLENGTH), "`") ? "none" : "_"
            out = out (emphasis == "_" ? "_" : "")
        } else if (c == "[" && match(substr(text, i), /^\[[^]]*\]\([^)]*\)/)) {
            out = out escaped(substr(text, i + 1, index(substr(text, i), "]") - 2))
            i += RLENGTH - 1
        } else {
            out = out escaped(c)
        }
    }
    return out
}

# What begins a line must not be taken for a list, a table, a heading or a comment.
function guarded(text)
{
    return text ~ /^[-.|:;#\]\[+ ]/ ? "\\" text : text
}

# ---- blocks ----

# What was gathered: a paragraph or an item.
function flush()
{
    if (gathered == "") {
        return
    }
    print is_item ? "- " inline(gathered) : guarded(inline(gathered))
    if (!is_item) {
        print ""
    }
    gathered = ""
}

function end_list()
{
    flush()
    if (is_item) {
        print ""
    }
    is_item = 0
}

# Two columns are a list of terms, as in every manual; more are a table, whose longest one is filled.
function end_table(    row, column, widest)
{
    for (row = 2; row <= n_rows && n_columns == 2; row++) {
        print guarded(inline(cell[row, 1])) "\n\t" inline(cell[row, 2]) "\n"
    }
    widest = 1
    for (column = 2; column <= n_columns; column++) {
        widest = longest[column] > longest[widest] ? column : widest
    }
    for (row = 1; row <= n_rows && n_columns > 2; row++) {
        for (column = 1; column <= n_columns; column++) {
            print (column == 1 ? "|" : ":") (column == widest ? "<" : "[") " " \
                inline(row == 1 ? "**" plain(cell[row, column]) "**" : cell[row, column])
        }
    }
    if (n_rows > 0 && n_columns > 2) {
        print ""
    }
    n_rows = 0
}

function take_row(line,    cells, i)
{
    sub(/^\|/, "", line)
    sub(/ *\|$/, "", line)
    if (line ~ /^ -+ /) {
        return
    }
    n_rows++
    n_columns = split(line, cells, / \| /)
    sub(/^ */, "", cells[1])
    for (i = 1; i <= n_columns; i++) {
        cell[n_rows, i] = cells[i]
        if (n_rows == 1 || length(cells[i]) > longest[i]) {
            longest[i] = length(cells[i])
        }
    }
}

function convert(line)
{
    if (line ~ /^<!-- [a-z]+: [a-z0-9._@\/-]+ -->$/) {
        return
    }
    is_left_out = line ~ /^<!--/ || (is_left_out && line != "")
    if (is_left_out) {
        return
    }
    if (line ~ /^```/) {
        end_list()
        print "```"
        if (in_fence) {
            print ""
        }
        in_fence = !in_fence
    } else if (in_fence) {
        gsub(/\\/, "\\\\&", line)
        print line
    } else if (line ~ /^\|/) {
        end_list()
        take_row(line)
    } else if (line == "") {
        end_table()
        end_list()
    } else if (line ~ /^# /) {
        return # the page has a name of its own
    } else if (line ~ /^## /) {
        end_list()
        print "# " toupper(substr(line, 4)) "\n"
    } else if (line ~ /^### /) {
        end_list()
        print "## " escaped(substr(line, 5)) "\n"
    } else if (line ~ /^\* /) {
        flush()
        is_item = 1
        gathered = substr(line, 3)
    } else {
        sub(/^ +/, "", line)
        gathered = gathered (gathered == "" ? "" : " ") line
    }
}

# ---- tables of the source ----

# A row of metrics.def: its name and its type and labels, then its help.
function metric(part,    word, scope, type, label)
{
    split(part[1], word, /[(, ]+/)
    scope = tolower(word[2])
    type = word[3] == "TIME" ? "counter" : word[3] == "SPAN" ? "gauge" : \
        word[3] == "LATENCY" ? "histogram" : tolower(word[3])
    label = tolower(part[3])
    gsub(/[^a-z]/, "", label)
    return "*" escaped(part[2]) "* (" type \
        (scope ~ /resource|fleet/ ? ", resource" : "") \
        (scope ~ /database|fleet|shared/ ? ", database" : "") (label != "none" ? ", " label : "") ")"
}

# A row of top_actions.c: the keys, then what they do.
function keys(label)
{
    gsub(/ /, "*, *", label)
    return "*" label "*"
}

# Rows of keys.def: the help of each key, by section and word.
function take_keys(path,    line, row, part, section)
{
    while ((getline line <path) > 0) {
        row = line ~ /^KEY\(/ ? line : row line
        if (line ~ /"\)$/ && row ~ /^KEY\(/) {
            split(row, part, /, */)
            section = part[3]
            sub(/ \|.*/, "", section)
            gsub(/"/, "", part[2])
            sub(/.*(RELOAD|START), *"/, "", row)
            gsub(/" *"|"\)$/, "", row)
            help_of[section, part[2]] = row
            row = ""
        }
    }
}

# Rows end with their last string.
function take_table(path,    line, row, part, help)
{
    while ((getline line <path) > 0) {
        if (line ~ /^METRIC\(/ || line ~ /^    \{\{/) {
            row = line
        } else if (row != "") {
            row = row line
        }
        if (row ~ /"\)$|\},$/) {
            split(row, part, "\"")
            help = part[4]
            print row ~ /^    \{\{/ ? keys(part[2]) : metric(part)
            print "\t" escaped(toupper(substr(help, 1, 1)) substr(help, 2)) (help ~ /\.$/ ? "" : ".") "\n"
            row = ""
        }
    }
}

# ---- the page ----

/^@src\/conf\/keys\.def@$/ {
    take_keys(srcdir "/src/conf/keys.def")
    next
}

/^## Keys of / {
    keys_of = /,/ ? "RESOURCE" : toupper(substr($0, 13, length($0) - 13))
    sub(/\].*/, "", keys_of)
}

/^\*[a-z-]+\*$/ && (keys_of, substr($0, 2, length($0) - 2)) in help_of {
    print
    help = help_of[keys_of, substr($0, 2, length($0) - 2)]
    getline
    is_more = $0 !~ /^\tValue: /
    print "\t" escaped(help) "." (is_more ? "" : "\n")
    print
    next
}

/^@src\/[a-z_\/]+\.(def|c)@$/ {
    take_table(srcdir "/" substr($0, 2, length($0) - 2))
    next
}

/^@doc\/[a-z]+\.md@$/ {
    path = srcdir "/" substr($0, 2, length($0) - 2)
    while ((getline line <path) > 0) {
        convert(line)
    }
    end_table()
    end_list()
    next
}
{
    print
}
