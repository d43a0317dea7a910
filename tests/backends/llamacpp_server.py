"""Serve a GGUF file by llama.cpp on a free port of this machine, print its address, and stay until killed."""

import signal
import sys

import xllamacpp


def main(gguf):
    parameters = xllamacpp.CommonParams()
    parameters.model.path = gguf
    parameters.hostnames, parameters.port = ["127.0.0.1"], 0
    parameters.n_ctx, parameters.n_parallel = 2048, 2
    # Threads that wait for each other are slow where others want the processor too.
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    parameters.warmup = False
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    signal.pause()


if __name__ == "__main__":
    main(sys.argv[1])
