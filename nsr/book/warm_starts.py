"""Processes that start with the large libraries already imported.

A notebook's two processes, Papermill's and the kernel, spend seven seconds of processor importing. Whoever runs
a second notebook starts a server, `python -m nsr.book.warm_starts serve …`, which imports the libraries once.
After that, `python -m MODULE …` is a fork of the server: a small program asks for it, waits for it, and ends as
it ends; if the small program is killed, the fork is, too.

    runner ──► ask ─ ─ ► server ──fork──► python -m nsr.book.kernel ──► ask ─ ─ ► server ──fork──► kernel

A fork begins without any module of nsr, so no notebook knows of another one. Only Linux is trusted to fork a
process with so many libraries; elsewhere, processes start as usual.
"""

import contextlib
import importlib
import itertools
import json
import os
import runpy
import select
import socket
import sys
import threading

LIBRARIES = (
    "numpy pandas scipy.stats scipy.optimize matplotlib.figure matplotlib.backends.backend_agg torch numba sympy IPython ipykernel.kernelapp "
    "ipywidgets papermill jupytext tqdm.auto psutil yaml safetensors"
)
THREADS = [f"{library}_NUM_THREADS" for library in ("OMP", "MKL", "OPENBLAS", "NUMBA")]
_wanted, _lock = itertools.count(), threading.Lock()
# socket and process by the numbers of threads, which the libraries read when they are imported
_servers: dict[tuple, tuple] = {}


def command() -> list[str]:
    """What to put before `MODULE …` to run a module: this Python, or somebody who asks the server for a fork."""
    if next(_wanted) == 0 or sys.platform != "linux":
        return [sys.executable, "-m"]
    with _lock:
        key = tuple(os.environ.get(name) for name in THREADS)
        if key not in _servers or _servers[key][1].poll() is not None:
            _servers[key] = _start()
        return [sys.executable, "-I", "-S", __file__, "ask", _servers[key][0]]


def _start() -> tuple:
    """Start a server, which ends with this process: the path of its socket, and the process."""
    import subprocess

    from nsr.book.kernel import short_folder
    from nsr.book.leftovers import temporary_folder
    from nsr.book.run_records import PACKAGE

    path = str(temporary_folder(short_folder()) / "forks")
    search = os.pathsep.join(filter(None, [str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]))
    # the backend of notebooks, which matplotlib wants to know when it is imported
    named = {"PYTHONPATH": search, "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    place = {"env": os.environ | named, "start_new_session": True, "stdin": subprocess.PIPE}
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        file = listening.fileno()
        words = [sys.executable, "-m", "nsr.book.warm_starts", "serve", str(file)]
        return path, subprocess.Popen(words, pass_fds=[file], **place)


# ---- the server -----------------------------------------------------------------------------------------------


def serve(file: int) -> None:
    """Fork for everybody who asks at a socket, until our standard input closes. Returns in each fork, ready to
    run."""
    listening = socket.socket(fileno=file)
    from nsr.book.kernel import end_tree, spare_grammar

    spare_grammar()
    for name in LIBRARIES.split():
        importlib.import_module(name)
    forks: dict[int, socket.socket] = {}
    watched = select.poll()
    watched.register(0, select.POLLIN)
    watched.register(listening, select.POLLIN)
    while True:
        ready = dict(watched.poll(50 if forks else None))  # milliseconds
        if 0 in ready:
            break
        if file in ready:
            asking = listening.accept()[0]
            pid = os.fork()
            if pid == 0:
                for other in (listening, *forks.values()):
                    other.close()
                return _become(asking)
            forks[pid] = asking
            watched.register(asking, 0)  # what is asked is for the fork to read; here only the end is seen
        for pid in [pid for pid, asking in forks.items() if asking.fileno() in ready]:
            end_tree(pid)
        while forks and (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with contextlib.suppress(OSError), forks.pop(ended[0]) as asking:
                watched.unregister(asking)
                asking.sendall(bytes([abs(os.waitstatus_to_exitcode(ended[1])) % 256]))
    for pid in forks:
        end_tree(pid)
    os._exit(0)


def _become(asking: socket.socket) -> None:
    """Turn a fork into what was asked for: its files, environment, folder and arguments."""
    os.setsid()
    with asking:
        files = socket.recv_fds(asking, 1, 3)[1]
        asked = json.loads(asking.makefile().readline())
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    sys.argv = asked["arguments"]
    sys.modules["numpy"].random.seed()  # or every fork would draw the same
    for name in [name for name in sys.modules if name.partition(".")[0] == "nsr"]:
        del sys.modules[name]


# ---- the small program ----------------------------------------------------------------------------------------


def ask(path: str, *arguments: str) -> int:
    """Have the server run `python -m MODULE …` and wait for it."""
    asked = {"environment": dict(os.environ), "folder": os.getcwd(), "arguments": list(arguments)}
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        socket.send_fds(server, [b"\0"], [0, 1, 2])
        server.sendall(json.dumps(asked).encode() + b"\n")
        code = server.recv(1)
    return code[0] if code else 1


if __name__ == "__main__":
    if sys.argv[1] == "ask":
        sys.exit(ask(*sys.argv[2:]))
    serve(int(sys.argv[2]))
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
