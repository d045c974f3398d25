"""Runs steps of EZKL for the TypeScript side: one JSON request a line on stdin, one JSON answer a line on stdout.

A request is {"step": NAME, ...}; the answer is {"ms": time of the step alone, "cpuMs": of all its threads, "peakRssBytes": of
this process, ...}, or {"error": text}. EZKL prints progress of its own to stdout, so answers go to a copy of the descriptor made before it starts.
"""

import asyncio
import inspect
import json
import os
import sys
import time

ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

import ezkl  # noqa: E402


def call(function, *args, **kwargs):
    """Some functions of EZKL are coroutines in one version and plain in another."""

    async def run():
        value = function(*args, **kwargs)
        return await value if inspect.isawaitable(value) else value

    return asyncio.run(run())


def peak_rss_bytes():
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    raise RuntimeError("no VmHWM in /proc/self/status")


def version(_):
    return {"version": ezkl.__version__}


def calibrate(request):
    """Fixed-point scale, lookup range and log2 of the rows, chosen by EZKL for the target on the samples of `data`."""
    arguments = ezkl.PyRunArgs()
    arguments.input_visibility = "public"
    arguments.output_visibility = "public"
    arguments.param_visibility = "fixed"
    arguments.variables = [(name, 1) for name in request["dimensions"]]
    if not call(ezkl.gen_settings, request["model"], request["settings"], py_run_args=arguments):
        raise RuntimeError("gen_settings refused the model")
    call(
        ezkl.calibrate_settings,
        request["data"],
        request["model"],
        request["settings"],
        request["target"],
        max_logrows=request["maxLogrows"],
    )
    call(ezkl.compile_circuit, request["model"], request["circuit"], request["settings"])
    with open(request["settings"], encoding="utf8") as file:
        settings = json.load(file)
    return {"logrows": settings["run_args"]["logrows"], "inputScale": settings["run_args"]["input_scale"]}


def srs(request):
    ezkl.gen_srs(request["srs"], request["logrows"])
    return {}


def setup(request):
    if not call(ezkl.setup, request["circuit"], request["vk"], request["pk"], request["srs"]):
        raise RuntimeError("setup failed")
    return {"pkBytes": os.path.getsize(request["pk"]), "vkBytes": os.path.getsize(request["vk"])}


def witness(request):
    """Outputs as numbers, rescaled by EZKL from its integers."""
    call(ezkl.gen_witness, request["data"], request["circuit"], request["witness"])
    with open(request["witness"], encoding="utf8") as file:
        pretty = json.load(file)["pretty_elements"]
    return {"outputs": [[float(value) for value in output] for output in pretty["rescaled_outputs"]]}


def prove(request):
    call(ezkl.prove, request["witness"], request["circuit"], request["pk"], request["proof"], request["srs"])
    with open(request["proof"], encoding="utf8") as file:
        proof = json.load(file)
    return {"proofBytes": len(proof["proof"]), "instances": sum(len(column) for column in proof["instances"])}


def verify(request):
    try:
        return {"valid": bool(call(ezkl.verify, request["proof"], request["settings"], request["vk"], request["srs"]))}
    except RuntimeError as error:
        return {"valid": False, "reason": str(error)}


def contract(request):
    """Writes the contract's source. EZKL then asks the network for a compiler, which we have ourselves."""
    try:
        call(
            ezkl.create_evm_verifier,
            request["vk"],
            request["settings"],
            request["solidity"],
            request["abi"],
            request["srs"],
        )
    except RuntimeError:
        if not os.path.exists(request["solidity"]):
            raise
    return {}


def calldata(request):
    call(ezkl.encode_evm_calldata, request["proof"], request["calldata"])
    return {}


STEPS = {
    step.__name__: step for step in (version, calibrate, srs, setup, witness, prove, verify, contract, calldata)
}

for line in sys.stdin:
    try:
        asked = json.loads(line)
        started, worked = time.perf_counter(), time.process_time()
        answer = STEPS[asked["step"]](asked)
        answer["ms"] = 1000 * (time.perf_counter() - started)
        answer["cpuMs"] = 1000 * (time.process_time() - worked)
        answer["peakRssBytes"] = peak_rss_bytes()
    except Exception as error:  # the other side makes a typed error of it
        answer = {"error": f"{type(error).__name__}: {error}"}
    ANSWERS.write(json.dumps(answer) + "\n")
    ANSWERS.flush()
