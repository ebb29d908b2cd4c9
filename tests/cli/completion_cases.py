"""`crosslock completion`: real shells, with commands, options and the names of locks."""

import os
import pty
import re
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from running import PATIENCE, PROGRAM, Running
from tally import environment

NAMES = ["deploy/blue", "deploy/green", "two words", "it's", "a:b:c", 'say "hi"', "back\\slash",
         "$HOME", "nightly"]
HOLDS = "echo started; exec sleep 100"
TAKES_NAME = ["run", "hold", "acquire", "list", "show", "watch", "break"]
# What each shell is told before it is typed into. The function shows what the words became; the
# script itself finds the program in PATH.
INIT = {
    "bash": "bind 'set bell-style none'; bind 'set enable-bracketed-paste off'; "
            "source {script}; crosslock() {{ printf '[%s]' \"$@\"; echo; }}; "
            "PS1='REA''DY>'",
    "zsh": "unsetopt zle_bracketed_paste beep prompt_cr prompt_sp; autoload -U compinit; "
           "compinit -D -u; source {script}; crosslock() {{ printf '[%s]' \"$@\"; echo; }}; "
           "PS1='REA''DY>'",
}
START = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}


def check(tally):
    for words in (["completion"], ["completion", "tcsh"], ["completion", "bash", "zsh"]):
        done = say(*words)
        tally.check(f"{words} is a usage error",
                    done.returncode == 64 and done.stdout == "" and done.stderr != "", str(done))
    with tempfile.TemporaryDirectory(prefix="crosslock-completion-") as name:
        folder = Path(name)
        (folder / "bin").mkdir()
        (folder / "bin/crosslock").symlink_to(PROGRAM)
        env = environment(HOME=name, CROSSLOCK_URL=f"sqlite://{name}/locks.db", TERM="dumb",
                          PATH=f"{name}/bin:{os.environ['PATH']}", LC_ALL="C.UTF-8")
        scripts = {}
        for shell in ("bash", "zsh", "fish"):
            scripts[shell] = folder / f"script.{shell}"
            scripts[shell].write_text(say("completion", shell).stdout)
            if not shutil.which(shell):
                tally.check(f"{shell} is installed (cmake/packages)", False)
                return
        held = [Running(each, HOLDS, env=env) for each in NAMES]
        try:
            for each in held:
                each.line()
            check_typing(tally, "bash", scripts["bash"], env)
            check_typing(tally, "zsh", scripts["zsh"], env)
            check_beside_package(tally, scripts["bash"], env)
            check_bash_lists(tally, scripts["bash"], env)
            check_fish(tally, scripts["fish"], env)
        finally:
            for each in held:
                each.send(15)
                each.end()
        check_nothing_there(tally, scripts["bash"], env, folder)


def say(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=PATIENCE,
                          env=environment(), stdin=subprocess.DEVNULL)


def commands():
    text = say("--help").stdout.split("Subcommands:")[1]
    return re.findall(r"^  (\S+)", text, re.M)


def options_of(command):
    """As its --help shows them."""
    words = re.findall(r"^  (-\S+)", say(command, "--help").stdout, re.M)
    return [option for word in words for option in word.split(",")]


class Typing:
    """A shell at a terminal."""

    def __init__(self, shell, script, env, before=":"):
        child, self.terminal = pty.fork()
        if child == 0:
            os.execvpe(START[shell][0], START[shell], env)
        self.child, self.seen = child, ""
        self.write(f"{before}; {INIT[shell].format(script=script)}\n")
        self.read_until("READY>")

    def write(self, text):
        os.write(self.terminal, text.encode())

    def read_until(self, mark):
        end = time.monotonic() + PATIENCE
        while mark not in self.seen:
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(self.seen)
            self.seen += os.read(self.terminal, 65536).decode(errors="replace")
        before, _, self.seen = self.seen.partition(mark)
        return before

    def became(self, typed):
        """The words of the command line after one press of the tabulator key."""
        # The shell reads it all in order: the line ends when the completion is there.
        self.write(typed + "\t\n")
        said = self.read_until("READY>")
        shown = re.findall(r"^\[(.*)\]\r?$", said, re.M)
        return shown[-1].split("][") if shown else said

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.child, 0)


def expecting(tally, shown, shell):
    def expect(typed, *words):
        found = shown.became(typed)
        tally.check(f"{shell}: {typed}", found == list(words), f"{found}, expected {list(words)}")
    return expect


def check_typing(tally, shell, script, env):
    shown = Typing(shell, script, env)
    expect = expecting(tally, shown, shell)
    try:
        for command in commands():
            if not any(other != command and other.startswith(command[:-1])
                       for other in commands()):
                expect(f"crosslock {command[:-1]}", command)
            for option in options_of(command):
                rivals = [each for each in options_of(command) if each.startswith(option[:-1])]
                if option.startswith("--") and rivals == [option]:
                    expect(f"crosslock {command} {option[:-1]}", command, option)
        for command in TAKES_NAME:
            expect(f"crosslock {command} nig", command, "nightly")
        check_names(expect)
        check_command_line(expect)
    finally:
        shown.close()


def check_names(expect):
    expect("crosslock show two\\ w", "show", "two words")
    expect("crosslock show 'two w", "show", "two words")
    expect('crosslock show "two w', "show", "two words")
    expect("crosslock show tw", "show", "two words")
    expect("crosslock show it", "show", "it's")
    expect('crosslock show "it', "show", "it's")
    expect("crosslock show a:", "show", "a:b:c")
    expect("crosslock show a:b:", "show", "a:b:c")
    expect("crosslock show a", "show", "a:b:c")
    expect("crosslock show 'a:b", "show", "a:b:c")
    expect("crosslock show say", "show", 'say "hi"')
    expect("crosslock show back", "show", "back\\slash")
    expect("crosslock show \\$H", "show", "$HOME")
    expect("crosslock show deploy/b", "show", "deploy/blue")
    expect("crosslock show no-such-lo", "show", "no-such-lo")
    expect("crosslock run -n nig", "run", "-n", "nightly")
    expect("crosslock run -w 5 nig", "run", "-w", "5", "nightly")
    expect("crosslock run --lease=5s nig", "run", "--lease=5s", "nightly")
    expect("crosslock run --prefix deploy/ bl", "run", "--prefix", "deploy/", "blue")
    expect("crosslock run -- nig", "run", "--", "nightly")
    expect("crosslock run --on-lost k", "run", "--on-lost", "kill")
    expect("crosslock completion f", "completion", "fish")


def check_command_line(expect):
    """Behind NAME the words are those of another command."""
    expect("crosslock run x -- crossloc", "run", "x", "--", "crosslock")
    expect("crosslock run x crossloc", "run", "x", "crosslock")
    expect("crosslock run a:b -- crossloc", "run", "a:b", "--", "crosslock")
    expect("crosslock run x -- ls /etc/hostnam", "run", "x", "--", "ls", "/etc/hostname")
    expect("crosslock run -w 5 x ls /etc/hostnam", "run", "-w", "5", "x", "ls", "/etc/hostname")
    # Not an option of ours.
    expect("crosslock run x -- ls --no-wai", "run", "x", "--", "ls", "--no-wai")


def check_beside_package(tally, script, env):
    """Where the package bash-completion is in use, it knows more of other commands."""
    package = Path("/usr/share/bash-completion/bash_completion")
    if not tally.check("bash-completion is installed (cmake/packages)", package.exists()):
        return
    shown = Typing("bash", script, env, f"source {package}")
    expect = expecting(tally, shown, "bash with bash-completion")
    try:
        check_command_line(expect)
        expect("crosslock run x -- crosslock sho", "run", "x", "--", "crosslock", "show")
        expect("crosslock run x -- crosslock show nig", "run", "x", "--", "crosslock", "show",
               "nightly")
    finally:
        shown.close()


def bash_offers(script, line, env, setup=""):
    """What bash has in COMPREPLY, by its own variables."""
    words = " ".join(f"'{word}'" for word in line.split(" "))
    text = (f"{setup}\nsource {script}\nCOMP_LINE='{line}' COMP_POINT={len(line)} "
            f"COMP_WORDS=({words}) COMP_CWORD={line.count(' ')}\n"
            "_crosslock\nprintf '%s\\n' \"${COMPREPLY[@]}\"")
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, env=env,
                          timeout=PATIENCE, stdin=subprocess.DEVNULL)
    return done.stdout.split("\n")[:-1] if done.stderr == "" else done.stderr


def check_bash_lists(tally, script, env):
    found = bash_offers(script, "crosslock ", env)
    tally.check("bash: all commands", found == commands(), str(found))
    found = bash_offers(script, "crosslock -", env)
    tally.check("bash: options without a command", found == ["--help", "--version"], str(found))
    for command in commands():
        found = bash_offers(script, f"crosslock {command} -", env)
        tally.check(f"bash: all options of {command}", sorted(found) == sorted(options_of(command)),
                    f"{found}")
    found = bash_offers(script, "crosslock show deploy/", env)
    tally.check("bash: several names", sorted(found) == ["deploy/blue", "deploy/green"], str(found))
    found = bash_offers(script, "crosslock run x cro", env)
    tally.check("bash: commands", "crosslock" in found, str(found))


def check_nothing_there(tally, script, env, folder):
    """The key does no harm where locks cannot be looked at, and makes nothing."""
    for url in ("redis://127.0.0.1:1", "nonsense", f"sqlite://{folder}/no/locks.db",
                f"sqlite://{folder}/new.db"):
        begin = time.monotonic()
        found = bash_offers(script, "crosslock show ", {**env, "CROSSLOCK_URL": url})
        tally.check(f"bash: no names at {url}, and no complaint", found == [""], str(found))
        took = time.monotonic() - begin
        tally.check(f"bash: soon, at {url}", took < 5, f"{took:.1f} s")
    tally.check("the key makes no database", not (folder / "new.db").exists())


def fish_offers(script, line, env):
    """What fish would show for this line: words without their descriptions."""
    done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C $LINE"],
                          capture_output=True, text=True, env={**env, "LINE": line},
                          timeout=PATIENCE, stdin=subprocess.DEVNULL)
    words = [each.split("\t")[0] for each in done.stdout.splitlines()]
    return words if done.stderr == "" else done.stderr


def check_fish(tally, script, env):
    def expect(line, *words):
        found = fish_offers(script, line, env)
        tally.check(f"fish: {line}", sorted(found) == sorted(words),
                    f"{found}, expected {words}")

    expect("crosslock ", *commands())
    expect("crosslock --", "--help", "--version")
    for command in commands():
        whole = [each for each in options_of(command) if each.startswith("--")]
        expect(f"crosslock {command} --", *whole)
    for command in TAKES_NAME:
        expect(f"crosslock {command} nig", "nightly")
    expect("crosslock show deploy/", "deploy/blue", "deploy/green")
    expect("crosslock show two\\ w", "two words")
    expect("crosslock show it", "it's")
    expect("crosslock show a:b", "a:b:c")
    expect("crosslock run -w 5 nig", "nightly")
    expect("crosslock run --prefix deploy/ bl", "blue")
    expect("crosslock run --on-lost k", "kill")
    expect("crosslock completion f", "fish")
    expect("crosslock run x -- ls /etc/hostnam", "/etc/hostname")
    expect("crosslock run x -- crosslock show nig", "nightly")
    found = fish_offers(script, "crosslock run x -- crossloc", env)
    tally.check("fish: commands", "crosslock" in found, str(found))
    found = fish_offers(script, "crosslock run x ls --", env)
    tally.check("fish: options of the command, and none of ours", "--no-wait" not in found,
                str(found))
