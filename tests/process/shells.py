"""What bash and zsh offer at a TAB: the completions of completions/, in real shells, for a line
that ends at the cursor."""

import functools
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import tempfile
import time

from lines import DEADLINE
from workers import at_end

COMPLETIONS = pathlib.Path(os.environ.get("BERTH_SOURCE_DIR", pathlib.Path(__file__).parents[2])) / "completions"

# It reads a line, how many words that has, and these.
BASH = r"""
. /usr/share/bash-completion/bash_completion
compopt() { # there is no line editor, which would offer files where nothing else is offered
    [[ " $* " != *" -o default "* ]] || offers_files=yes
}
COMP_TYPE=9 COMP_KEY=9
while IFS= read -r COMP_LINE && read -r n && mapfile -t -n "$n" COMP_WORDS; do
    . "$COMPLETIONS/${COMP_WORDS[0]}"
    COMP_CWORD=$((n - 1)) COMP_POINT=${#COMP_LINE} COMPREPLY=() offers_files=
    word=${COMP_WORDS[COMP_CWORD]}
    read -r _ _ function _ < <(complete -p "${COMP_WORDS[0]}")
    $function "${COMP_WORDS[0]}" "$word" "${COMP_WORDS[COMP_CWORD - 1]}" </dev/null
    [[ -z $offers_files || ${#COMPREPLY[@]} -gt 0 ]] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
    printf '%s\n' "${COMPREPLY[@]}" "THAT WAS ALL"
done
"""

ZSH = r"""
fpath=("$COMPLETIONS" $fpath)
autoload -U compinit && compinit -u -d "$COMPLETIONS_DUMP"
zstyle ':completion:*' list-grouped false
compadd() {
    local -a hits
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
        builtin compadd "$@"
        return
    fi
    builtin compadd -A hits "$@"
    print -rl -- "" "HIT "$^hits
    (( $#hits ))
}
at_tab() {
    zle complete-word
    BUFFER=
    print -r -- "THAT WAS ALL"
}
zle-line-init() {
    print READY
}
zle -N at_tab
zle -N zle-line-init
bindkey '^I' at_tab
PS1=
unsetopt prompt_sp
"""


def environ_of(path, environ, **more):
    return {**environ, "PATH": f"{path}:/usr/sbin:/usr/bin:/sbin:/bin", "COMPLETIONS": str(COMPLETIONS), **more}


class Bash:
    """Completes lines of programs found in `path`."""

    def __init__(self, path, environ, directory):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            ["bash", "--norc", "-c", BASH], env=environ_of(path, environ), cwd=directory, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.errors)

    def offers(self, line):
        """Returns a set of words."""
        # Splits as the line editor does.
        words = [part for word in line.split(" ") for part in re.findall(r"[:=]+|[^:=]+", word) or [""]]
        self.process.stdin.write("\n".join([line, str(len(words)), *words, ""]).encode())
        self.process.stdin.flush()
        said = read_until(self.process.stdout.fileno(), "THAT WAS ALL\n")
        assert os.fstat(self.errors.fileno()).st_size == 0
        return set(said.removesuffix("THAT WAS ALL\n").split())

    def end(self):
        self.process.communicate(timeout=DEADLINE)
        self.errors.close()


def read_until(fd, word):
    said, end = b"", time.monotonic() + DEADLINE
    while word.encode() not in said:
        readable, _, _ = select.select([fd], [], [], max(end - time.monotonic(), 0))
        assert readable, said
        said += os.read(fd, 65536)
    return said.decode()


@functools.cache
def zsh_dump():
    """What compinit has found in all files of zsh: to look for it takes longer than a test."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="berth-zsh-", dir="/tmp"))
    at_end(shutil.rmtree, directory)
    return directory / "dump"


class Zsh:
    """The same for zsh, which needs a terminal."""

    def __init__(self, path, environ, directory):
        (directory / ".zshrc").write_text(ZSH)
        environ = environ_of(path, environ, TERM="dumb", ZDOTDIR=str(directory), COMPLETIONS_DUMP=str(zsh_dump()))
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            os.execvpe("zsh", ["zsh", "-d", "-i"], environ)
        read_until(self.terminal, "READY")

    def offers(self, line):
        """Returns a set of words, or of what follows a slash."""
        os.write(self.terminal, line.encode() + b"\t")
        return set(re.findall(r"^HIT (.+)\r$", read_until(self.terminal, "THAT WAS ALL"), re.M))

    def end(self):
        os.close(self.terminal)  # which hangs up on it
        os.waitpid(self.pid, 0)
