"""llama.cpp's own HTTP server in a process of its own: `python -m tests.engine.llm.llama_server MODEL`.

Prints its address and serves until its standard input is closed.
"""

from __future__ import annotations

import os
import sys

import xllamacpp

CONTEXT = 2048


def main(path: str) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = 1
    params.use_jinja = True
    params.warmup = False
    params.offline = True
    params.ui = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)  # nothing of it is worth an orderly end


if __name__ == "__main__":
    main(sys.argv[1])
