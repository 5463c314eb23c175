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

BASH = r"""
. /usr/share/bash-completion/bash_completion
. "$1"
COMP_LINE=$2
shift 2
offers_files=
compopt() { # there is no line editor, which would offer files where nothing else is offered
    [[ " $* " != *" -o default "* ]] || offers_files=yes
}
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_TYPE=9 COMP_KEY=9
COMP_POINT=${#COMP_LINE}
read -r _ _ function _ < <(complete -p "$1")
$function "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
[[ -z $offers_files || ${#COMPREPLY[@]} -gt 0 ]] || mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
printf '%s\n' "${COMPREPLY[@]}"
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


class Bash:
    """Completes lines of programs found in `path`."""

    def __init__(self, path, environ, directory):
        self.options = {
            "env": {**environ, "PATH": f"{path}:/usr/sbin:/usr/bin:/sbin:/bin"}, "cwd": directory}

    def offers(self, line):
        """Returns a set of words."""
        # Splits as the line editor does.
        words = [part for word in line.split(" ") for part in re.findall(r"[:=]+|[^:=]+", word) or [""]]
        done = subprocess.run(
            ["bash", "--norc", "-c", BASH, "bash", COMPLETIONS / words[0], line, *words], **self.options,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE)
        assert done.stderr == ""
        return set(done.stdout.split())

    def end(self):
        pass


@functools.cache
def zsh_dump():
    """What compinit has found in all files of zsh: to look for it takes longer than a test."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="berth-zsh-", dir="/tmp"))
    at_end(shutil.rmtree, directory)
    return directory / "dump"


class Zsh:
    """The same for zsh. It needs a terminal, and takes long to start: one serves several lines."""

    def __init__(self, path, environ, directory):
        (directory / ".zshrc").write_text(ZSH)
        environ = {
            **environ, "PATH": f"{path}:/usr/sbin:/usr/bin:/sbin:/bin", "TERM": "dumb", "ZDOTDIR": str(directory),
            "COMPLETIONS": str(COMPLETIONS), "COMPLETIONS_DUMP": str(zsh_dump())}
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(directory)
            os.execvpe("zsh", ["zsh", "-d", "-i"], environ)
        self.read_until("READY")

    def offers(self, line):
        """Returns a set of words, or of what follows a slash."""
        os.write(self.terminal, line.encode() + b"\t")
        return set(re.findall(r"^HIT (.+)\r$", self.read_until("THAT WAS ALL"), re.M))

    def read_until(self, word):
        said, end = b"", time.monotonic() + DEADLINE
        while word.encode() not in said:
            readable, _, _ = select.select([self.terminal], [], [], max(end - time.monotonic(), 0))
            assert readable, said
            said += os.read(self.terminal, 65536)
        return said.decode()

    def end(self):
        os.close(self.terminal)  # which hangs up on it
        os.waitpid(self.pid, 0)
