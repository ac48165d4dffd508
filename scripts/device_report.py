#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports of devices: collect one, and print docs/devices.md from those in bench/results/devices.

    device_report.py collect FOLDER FILE   write a report of the results of scripts/prove_my_gpu.sh; exits with 1 if anything failed
    device_report.py                       compare the page's table with the reports
    device_report.py --write               write it into the page

A report has only the fields below, so nothing of the machine but its GPU can be in it.
"""
import json
import re
import sys
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent
PAGE = TREE / "docs/devices.md"
PART = re.compile(r"(?s)(<!-- devices -->\n).*?(<!-- /devices -->)")
DEVICE = ("name", "cc_major", "cc_minor", "sm_count", "clock_khz", "memory_clock_khz", "memory_bus_bits", "memory_bytes", "l2_bytes",
          "shared_per_block_optin", "driver_version")
PROBLEM = ("j", "k", "l", "batch", "dtype", "n_dtype", "p_dtype", "compute", "n_layout", "scale_m", "scale_n")
CONTENDERS = ("zero_shot", "tuned", "cublas", "cublaslt")


def read(folder, name):
    """Return the JSON that a step printed; {} if it was cut short."""
    try:
        return json.loads((folder / f"{name}.json").read_text())
    except (OSError, ValueError):
        return {}


def chosen(source, names):
    return {name: source[name] for name in names if name in source}


def proof_of(proof):
    one = {"problem": chosen(proof.get("problem", {}), PROBLEM), "config": proof.get("config", ""), "passed": proof.get("passed", False)}
    return one if one["passed"] else {**one, "elements": proof.get("elements", 0)}


def timed(shape):
    row = {"problem": chosen(shape.get("problem", shape), PROBLEM), "category": shape.get("category", "")}
    for name in CONTENDERS:
        one = shape.get(name, {})
        row[name] = {"us": one.get("us"), "state": one.get("state", "absent")}
        if name in ("zero_shot", "tuned") and one.get("how", "").count(":") == 1:
            row[name]["config"] = one["how"]
    return row


def collect(folder):
    ends = {path.stem: [int(word) for word in path.read_text().split()] for path in sorted(folder.glob("*.end"))}
    proofs, bench = read(folder, "prove").get("proofs", []), read(folder, "bench").get("shapes", [])
    devices = read(folder, "measure").get("devices") or read(folder, "devices").get("devices") or [{}]
    compilers = sorted({proof["compiler"] for proof in proofs if "compiler" in proof})
    return {
        "report": 1,
        "device": chosen(devices[0], DEVICE),
        "bytes_per_s": devices[0].get("measured_bytes_per_s"),
        "compiler": compilers[0] if compilers else None,
        "steps": {name: {"exit": code, "seconds": seconds} for name, (code, seconds) in ends.items()},
        "proofs": [proof_of(proof) for proof in proofs],
        "times": [timed(shape) for shape in bench],
    }


def ratio(report):
    """Return the geometric mean of cuBLASLt's time, or cuBLAS's, divided by that of the tuned kernel, and over how many products."""
    product, count = 1.0, 0
    for row in report["times"]:
        others = [row[name]["us"] for name in ("cublaslt", "cublas") if row[name]["us"]]
        if others and row["tuned"]["us"]:
            product, count = product * min(others) / row["tuned"]["us"], count + 1
    return (product ** (1 / count), count) if count else (None, 0)


def of_trials():
    """Yield the devices whose trials ship, with their compute capability and number of problems."""
    for path in sorted(TREE.glob("trials/*.tjtrials")):
        lines = path.read_text().split("\n")
        facts = json.loads(lines[1])
        yield facts["name"], f"{facts['cc_major']}.{facts['cc_minor']}", sum(line.startswith("j") for line in lines)


def table():
    rows = []
    for path in sorted((TREE / "bench/results/devices").glob("*.json")):
        report = json.loads(path.read_text())
        facts, proven = report["device"], sum(proof["passed"] for proof in report["proofs"])
        tests = {name: step["exit"] for name, step in report["steps"].items() if name.startswith("gpu_")}
        speed, count = ratio(report)
        rows.append((facts["name"], f"{facts['cc_major']}.{facts['cc_minor']}", f"{proven} of {len(report['proofs'])}",
                     f"{sum(code == 0 for code in tests.values())} of {len(tests)}", f"{speed:.2f} ({count})" if speed else ""))
    known = {row[0] for row in rows}
    rows += [(name, capability, "", "", f"trials of {count} problems") for name, capability, count in of_trials() if name not in known]
    text = "| device | capability | kernels proven | GPU tests passed | speed next to cuBLAS, tuned |\n|---|---|---|---|---|\n"
    return text + "".join(f"| {' | '.join(row)} |\n" for row in rows).replace("|  |", "| |").replace("|  |", "| |")


def main(words):
    if words[:1] == ["collect"] and len(words) == 3:
        report = collect(Path(words[1]))
        Path(words[2]).write_text(json.dumps(report, indent=1) + "\n")
        failed = [name for name, step in report["steps"].items() if step["exit"]]
        print(f"device_report: {sum(proof['passed'] for proof in report['proofs'])} of {len(report['proofs'])} kernels proven, "
              f"{len(report['times'])} products timed" + (f"; failed: {', '.join(failed)}" if failed else ""))
        sys.exit(1 if failed else 0)
    page = PAGE.read_text()
    held = PART.sub(lambda match: match.group(1) + "\n" + table() + "\n" + match.group(2), page)
    if words == ["--write"]:
        PAGE.write_text(held)
    elif held != page:
        sys.exit("device_report: docs/devices.md does not show the reports of bench/results/devices: scripts/device_report.py --write")
    print("device_report: no complaint")


if __name__ == "__main__":
    main(sys.argv[1:])
