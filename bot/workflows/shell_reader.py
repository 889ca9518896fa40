"""Reading an author's command as bash would, to know where in it a value stands.

Source: https://www.gnu.org/software/bash/manual/bash.html#Quoting, *Shell Expansions*, *Redirections*. Careful where it
cannot follow: a doubt refuses the value, never lets it in.
"""

from __future__ import annotations

import re

from bot.workflows.code_words import code_argument
from bot.workflows.shell_frame import STARTS_MAX, WORDS_MAX, Frame

#: stands for an inserted value in the text that is read
VALUE = "\0"

_BLANK = " \t"
#: characters that mean nothing but themselves, wherever they stand
_PLAIN = re.compile(r"[A-Za-z0-9_./:,%@-]+")
#: what may follow a word
_AFTER = frozenset(" \t\n;|&)<>")
_RESERVED = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "coproc"})
_REDIRECTION = re.compile(r"<<<|<&|<>|<|>>|>\||>&|>")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[.*\])?\+?=", re.DOTALL)
#: what stands in front of a redirection and is no word of the command: the number or variable of a file descriptor
_DESCRIPTOR = re.compile(r"[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\}")


class ShellReader:
    """One reading of one command."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.frames = [Frame("command", safe=True)]
        self.heredocs: list[tuple[str, bool]] = []
        self.reasons: list[str] = []
        #: the reader is no longer sure of what bash would see
        self.lost = False
        #: the command is longer than is read
        self.far = False

    def read(self) -> list[str]:
        """For each value in the command, in order, why it cannot stand there; empty where it can."""
        while self.at < len(self.text):
            if self.far:
                self._skip_to(-1, "stands behind more words than are followed")
                break
            frame = self.frames[-1]
            match frame.kind:
                case "command":
                    self._command(frame)
                case "double":
                    self._double()
                case "brace":
                    self._brace()
                case _:
                    self._arithmetic(frame)
        return self.reasons

    def _ahead(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def _refuse(self, span: str, reason: str) -> None:
        self.reasons += [reason] * span.count(VALUE)

    def _skip_to(self, end: int, reason: str) -> str:
        """Read up to `end` (-1: the end of the text) as one piece that may hold no value."""
        stop = len(self.text) if end < 0 else end
        span = self.text[self.at : stop]
        self._refuse(span, reason)
        self.at = stop
        return span

    # -- command text ---------------------------------------------------------------------------------------------

    def _command(self, frame: Frame) -> None:
        character = self.text[self.at]
        match character:
            case "\0":
                self.reasons.append(self._value(frame))
                frame.in_word = True
                frame.take(VALUE)
                self.at += 1
            case "\n":
                self._end_command(frame)
                self.at += 1
                self._read_heredocs()
            case ";" | "&" | "|":
                self.at += 1
                if character == "&" and self._ahead(">"):
                    self._end_word(frame)
                    self._redirect(frame)
                else:
                    self._end_command(frame)
            case "<" | ">":
                self._angle(frame, character)
            case "(":
                self._open_paren(frame)
            case ")":
                self.at += 1
                self._close_paren(frame)
            case "#" if not frame.in_word:
                self._skip_to(self.text.find("\n", self.at), "stands in a comment")
            case _ if character in _BLANK:
                self._end_word(frame)
                self.at += 1
            case _:
                if plain := _PLAIN.match(self.text, self.at):
                    frame.in_word = True
                    frame.take(plain.group())
                    self.at = plain.end()
                elif not self._quoting(frame):
                    frame.in_word = True
                    frame.take(character)
                    self.at += 1

    def _value(self, frame: Frame) -> str:
        following = self.text[self.at + 1 : self.at + 2]
        if self.lost:
            return "stands behind something that cannot be followed with certainty"
        if not all(one.safe for one in self.frames):
            return "stands inside a substitution or parentheses"
        if frame.in_word or (following and following not in _AFTER):
            return "is only a part of a word"
        if frame.redirect:
            return ""
        reasons = (code_argument(frame.words[start:]) for start in (0, *frame.starts))
        return next((reason for reason in reasons if reason), "")

    def _end_word(self, frame: Frame) -> None:
        if not frame.in_word:
            return
        word, frame.word, frame.in_word = frame.word, "", False
        if frame.redirect:
            frame.redirect = False
        elif word == "{" or (not frame.words and (word in _RESERVED or _ASSIGNMENT.match(word))):
            frame.words.clear()
            frame.starts.clear()
        else:
            if word == "case" and not frame.words and not frame.safe:
                self.lost = True  # its patterns close parentheses that were never opened
            frame.words.append(word)
            # where a keyword counts depends on all that stands before it: `for x do`, `f() if`, `{ …; } then`
            if word in _RESERVED or "(" in word:
                frame.starts.append(len(frame.words))
            elif word == "[[":
                frame.starts.append(len(frame.words) - 1)
            if len(frame.words) > WORDS_MAX or len(frame.starts) > STARTS_MAX:
                self.far = True

    def _end_command(self, frame: Frame) -> None:
        self._end_word(frame)
        frame.words.clear()
        frame.starts.clear()
        frame.redirect = False

    def _angle(self, frame: Frame, character: str) -> None:
        if self.text.startswith("(", self.at + 1):
            self.at += 2
            frame.in_word = True
            frame.take("$")
            self.frames.append(Frame("command"))
        elif self._ahead("<<") and not self._ahead("<<<"):
            self._end_word(frame)
            self._heredoc()
        else:
            if _DESCRIPTOR.fullmatch(frame.word):
                frame.word, frame.in_word = "", False
            self._end_word(frame)
            self._redirect(frame)

    def _redirect(self, frame: Frame) -> None:
        operator = _REDIRECTION.match(self.text, self.at)
        assert operator is not None  # the caller has seen `<` or `>`
        self.at = operator.end()
        frame.redirect = True

    def _open_paren(self, frame: Frame) -> None:
        if not frame.in_word and not frame.words and self._ahead("(("):
            self.at += 2
            self.frames.append(Frame("arithmetic", depth=2))
            return
        # a subshell begins a command; anything else is an array, a pattern or a function's head
        subshell = not frame.in_word and not frame.words and not frame.redirect
        self.at += 1
        frame.in_word = True
        frame.take("(")
        self.frames.append(Frame("command", safe=subshell))

    def _close_paren(self, frame: Frame) -> None:
        self._end_command(frame)
        if len(self.frames) > 1:
            self.frames.pop()

    # -- quotes and substitutions ---------------------------------------------------------------------------------

    def _quoting(self, frame: Frame) -> bool:
        """Read what begins a quote, an escape or a substitution; False if nothing of it stands here."""
        character = self.text[self.at]
        if character == "\\":
            if self._ahead("\\\n"):
                self.at += 2  # a continued line: as if nothing stood here
                return True
            self.at += 1
            frame.in_word = True
            frame.take(self._skip_to(self.at + 1, "is escaped"))
            return True
        if character == "'":
            self.at += 1
            frame.in_word = True
            frame.take(self._skip_to(self.text.find("'", self.at), "stands inside quotes"))
            self.at += 1
            return True
        if character == '"':
            self.at += 1
            frame.in_word = True
            self.frames.append(Frame("double"))
            return True
        if self._ahead("$'"):
            text = self._ansi_quote()
            frame.in_word = True
            frame.take("$" if "\\" in text else text)
            return True
        if self._substitution():
            frame.in_word = True
            frame.take("$")
            return True
        return False

    def _ansi_quote(self) -> str:
        self.at += 2
        end = self.at
        while end < len(self.text) and self.text[end] != "'":
            end += 2 if self.text[end] == "\\" else 1
        text = self._skip_to(min(end, len(self.text)), "stands inside quotes")
        self.at += 1
        return text

    def _substitution(self) -> bool:
        if self._ahead("`"):
            self.at += 1
            end = self.at
            while end < len(self.text) and self.text[end] != "`":
                end += 2 if self.text[end] == "\\" else 1
            span = self._skip_to(min(end, len(self.text)), "stands inside a substitution or parentheses")
            self.at += 1
            if any(character in span for character in "'\"\\#"):
                self.lost = True
            return True
        for opening, frame in (
            ("$((", Frame("arithmetic", depth=2)),
            ("$(", Frame("command")),
            ("${", Frame("brace")),
        ):
            if self._ahead(opening):
                self.at += len(opening)
                self.frames.append(frame)
                return True
        if self._ahead("$["):
            self.lost = True
        return False

    def _double(self) -> None:
        outer = self.frames[-2]  # a quote opens inside something, always
        character = self.text[self.at]
        if character == '"':
            self.at += 1
            self.frames.pop()
        elif character == "\\":
            escaped = self._skip_to(self.at + 2, "stands inside quotes")
            outer.take(escaped[1:] if escaped[1:] in ("$", "`", '"', "\\") else escaped.replace("\\\n", ""))
        elif self._substitution():
            outer.take("$")
        else:
            outer.take(self._skip_to(self.at + 1, "stands inside quotes"))

    def _brace(self) -> None:
        character = self.text[self.at]
        if character == "}":
            self.at += 1
            self.frames.pop()
        elif character == "\\":
            self._skip_to(self.at + 2, "stands inside a substitution or parentheses")
        elif character == "'":
            # whether this quotes depends on the operator and on quotes around the expansion
            self.lost = True
            self.at += 1
        elif character == '"':
            self.at += 1
            self.frames.append(Frame("double"))
        elif not self._substitution():
            self._skip_to(self.at + 1, "stands inside a substitution or parentheses")

    def _arithmetic(self, frame: Frame) -> None:
        character = self.text[self.at]
        frame.depth += {"(": 1, ")": -1}.get(character, 0)
        if character in "'\"\\`":
            self.lost = True
        self._skip_to(self.at + 1, "stands inside arithmetic, which would evaluate it")
        if frame.depth == 0:
            self.frames.pop()

    # -- heredocs -------------------------------------------------------------------------------------------------

    def _heredoc(self) -> None:
        strip = self._ahead("<<-")
        self.at += 3 if strip else 2
        while self.at < len(self.text) and self.text[self.at] in _BLANK:
            self.at += 1
        end = self.at
        while end < len(self.text) and self.text[end] not in " \t\n;|&()<>":
            end += 1
        word = self._skip_to(end, "names the end of a heredoc")
        name = word.replace("'", "").replace('"', "")
        if not name or any(character in word for character in "\\$`") or len(word) - len(name) not in (0, 2):
            self.lost = True
        self.heredocs.append((name, strip))

    def _read_heredocs(self) -> None:
        for name, strip in self.heredocs:
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                line = self._skip_to(end, "stands inside a heredoc")
                self.at += 1
                if (line.lstrip("\t") if strip else line) == name:
                    break
        self.heredocs.clear()
