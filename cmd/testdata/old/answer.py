# Runs a program at a terminal and answers each question: no at a gate, else what is proposed.
import os, pty, re, sys

pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
seen = b""
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:
        break
    if not part:
        break
    seen += part
    if re.search(rb"\[[^TLt][^\]\n]*\] ?$", seen):
        os.write(terminal, b"n\n" if b"G2" in seen else b"\n")
        seen = b""
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
