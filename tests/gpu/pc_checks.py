#!/usr/bin/env python3
"""Checks reports for tests/gpu/pc_gpu.sh: prints figures, and exits with 0 if they are right.

    pc_checks.py agree NATIVE.json NCU.json [POINTS]   stall shares of six kernels, for reasons with at least 5 %
    pc_checks.py hottest NATIVE.json SASS.csv CUDA.csv [POINTS]   the places with most samples, if both reports have them
    pc_checks.py own NATIVE.json FILE                  the top five lines of Triton kernels are in FILE, or inlined there
    pc_checks.py clean NATIVE.json [SAMPLES]           at least SAMPLES samples; none lost, none without its launch
    pc_checks.py launches NATIVE.json OTHER.json       the same kernels as often in every region, each with samples
    pc_checks.py has REPORT.json EXPRESSION            a Python expression of `r`, the report

Reports are those of `sonde report -f json --metrics '*'`; the CSVs of `ncu --page source --csv --print-source sass` and `cuda`.
"""
import csv
import json
import re
import sys

PREFIX = "smsp__pcsamp_warps_issue_stalled_"
KERNELS = ["triton_softmax", "triton_matmul", "elementwise", "reduction", "gemm", "attention"]


def load(path):
    with open(path) as f:
        return json.load(f)


def regions(path):
    return {r["id"]: r for r in load(path)["aggregate"]["regions"]}


def hottest_kernel(region):
    """The one that the region is about: the longest with samples."""
    return max((k for k in region["kernels"] if "stalls" in k), key=lambda k: k["total_ms"], default=None)


def base(name):
    """Without arguments of templates and functions, which demanglers spell in more ways than one."""
    return re.sub(r"[<(].*", "", name.removeprefix("void ")).split("::")[-1].strip()


def truth(kernel):
    m = {k.removeprefix(PREFIX): v for k, v in kernel["metrics"].items() if k.startswith(PREFIX) and "not_issued" not in k}
    total = sum(v or 0 for v in m.values())
    return {k.split(".")[0]: 100 * (v or 0) / total for k, v in m.items()} if total else {}


def agree(native, ncu, points="3"):
    native, ncu, points, bad, seen = regions(native), regions(ncu), float(points), 0, []
    for name in KERNELS:
        mine = hottest_kernel(native[name]) if name in native else None
        theirs = [k for k in ncu.get(name, {}).get("kernels", []) if mine and base(k["kernel_name"]) == base(mine["kernel_name"])]
        want = truth(theirs[0]) if theirs else {}
        if not want:
            print(f"MISSING {name}: {'no samples' if not mine else 'not in the report of ncu: ' + mine['kernel_name'][:80]}")
            continue
        have = {r["reason"]: r["share_pct"] for r in mine["stalls"]["reasons"]}
        seen.append(name)
        print(f"{name}: {mine['kernel_name'][:60]}, {mine['stalls']['samples']:.0f} samples, {mine['stalls']['method']}")
        for reason, share in sorted(want.items(), key=lambda x: -x[1]):
            if max(share, have.get(reason, 0)) < 5:
                continue
            off = abs(share - have.get(reason, 0))
            bad += off > points
            print(f"  {'OFF' if off > points else '   '} {reason:22} {have.get(reason, 0):6.1f} {share:6.1f}")
    print(f"{len(seen)} of {len(KERNELS)} kernels compared, {bad} shares off by more than {points:g} points")
    return not bad and len(seen) == len(KERNELS)


def number(text):
    try:
        return float((text or "").replace(",", ""))
    except ValueError:
        return 0.0


def source_pages(path):
    """Of each launch: its name and the rows of its tables, each with the file that a line before the table names."""
    pages, header, file = [], None, ""
    with open(path, newline="") as f:
        for row in csv.reader(f):
            key = row[0].strip() if row else ""
            if key in ("Kernel Name", "Function Name"):
                pages.append((row[1] if len(row) > 1 else "", []))
                header, file = None, ""
            elif key in ("File Path", "File Name", "File"):
                header, file = None, row[1] if len(row) > 1 else ""
            elif any("Sampl" in c for c in row):
                header = row
            elif header and pages and len(row) >= len(header) - 1:
                pages[-1][1].append((file, dict(zip(header, row))))
    return pages


def samples_of(row):
    for key in ("Warp Stall Sampling (All Samples)", "# Samples", "Samples"):
        if key in row:
            return number(row[key])
    return next((number(v) for k, v in row.items() if "Sampl" in k and "Not" not in k), 0.0)


def address_of(row):
    text = row.get("Address", "")
    try:
        return int(text, 16) if re.search("[a-fx]", text) else int(text)
    except ValueError:
        return None


def of_instructions(page):
    """Samples by offset: from the first instruction, which is the first row."""
    out, first = {}, None
    for i, (_, row) in enumerate(page):
        address = address_of(row)
        first = address if first is None else first
        at = 16 * i if address is None or address < first or (address - first) % 16 else address - first
        out[at] = out.get(at, 0) + samples_of(row)
    return out


def of_lines(page):
    out = {}
    for file, row in page:
        key = next((row[k] for k in ("Line", "Line No", "#") if k in row), "")
        if key.strip().isdigit():
            at = f"{file.rsplit('/', 1)[-1]}:{key.strip()}"
            out[at] = out.get(at, 0) + samples_of(row)
    return out


def page_of(pages, kernel):
    """Names are with arguments or without, and so are ours."""
    short = re.split(r"[<(]", kernel.removeprefix("void "))[0].rsplit("::", 1)[-1].strip()
    return next((p for name, p in pages if short and short in name), None)


def compare(what, mine, theirs, points):
    """Two samplings need not agree on which of two places with nearly the same share is first."""
    total = sum(theirs.values())
    if not mine or not total:
        return None
    shares = {k: 100 * v / total for k, v in theirs.items()}
    first = max(shares, key=shares.get)
    own = max(mine, key=mine.get)
    ok = shares[first] - shares.get(own, 0) <= points
    print(f"  {'   ' if ok else 'OFF'} {what}: {own} ({mine[own]:.1f} %), which has {shares.get(own, 0):.1f} % for ncu; its first is {first} ({shares[first]:.1f} %)")
    return ok


def hottest(native, sass, cuda, points="3"):
    native, pages, sources, points = regions(native), source_pages(sass), source_pages(cuda), float(points)
    seen, bad = {"instruction": 0, "line": 0}, 0
    for name in KERNELS:
        kernel = hottest_kernel(native[name]) if name in native else None
        if not kernel:
            continue
        print(f"{name}: {kernel['kernel_name'][:60]}")
        stalls, lines = kernel["stalls"], {}
        for line in stalls.get("lines", []):
            at = f"{line['file'].rsplit('/', 1)[-1]}:{line['line']}"
            lines[at] = lines.get(at, 0) + line["share_pct"]
        offsets = {hex(i["offset"]): i["share_pct"] for i in stalls.get("instructions", [])}
        both = [("instruction", offsets, {hex(k): v for k, v in of_instructions(page_of(pages, kernel["kernel_name"]) or []).items()}),
                ("line", lines, of_lines(page_of(sources, kernel["kernel_name"]) or []))]
        for what, mine, theirs in both:
            ok = compare(what, mine, theirs, points)
            seen[what] += ok is not None
            bad += ok is False
            if ok is None:
                print(f"      no {what}: {len(mine)} here, {len(theirs)} in ncu's page")
    print(f"{seen['instruction']} kernels compared by instruction, {seen['line']} by line; {bad} differ by more than {points:g} points")
    return not bad and seen["instruction"] == len(KERNELS)


def own(native, file):
    ok, seen = True, 0
    for name, region in regions(native).items():
        kernel = hottest_kernel(region)
        if not name.startswith("triton") or not kernel:
            continue
        lines = kernel["stalls"].get("lines", [])[:5]
        seen += any(line["file"].endswith("/" + file) for line in lines)
        has_callers = any(line["callers"] for line in kernel["stalls"].get("lines", []))
        print(f"{name}: {len(lines)} lines")
        for line in lines:
            places = [f"{p['file'].rsplit('/', 1)[-1]}:{p['line']}" for p in [line] + line["callers"]]
            is_own = any(p.startswith(file + ":") for p in places)
            ok &= is_own or not has_callers  # Triton 3.6 writes no calls into its line tables
            print(f"  {'own' if is_own else 'OFF' if has_callers else '   '} {line['share_pct']:5.1f} %  {line['reason']}  {' < '.join(places)}")
    return ok and seen == 2


def clean(native, least="1"):
    r = load(native)
    ok = bool(r.get("pc_samples"))
    for p in r.get("pc_samples", []):
        print(p)
        ok &= p["samples"] >= int(least) and not p["dropped"] and not p["full_drains"] and not p["without_launch"]
    for loss in r.get("losses", []):
        print("loss:", loss)
    return ok and not r.get("losses")


def launches(native, other):
    native, other, ok, kernels, bare = regions(native), regions(other), True, 0, []
    for name in sorted(set(native) | set(other)):
        mine, theirs = ({k["kernel_name"]: k for k in rs.get(name, {}).get("kernels", [])} for rs in (native, other))
        for k in sorted(set(mine) | set(theirs)):
            calls = [d[k]["calls"] if k in d else 0 for d in (mine, theirs)]
            kernels += 1
            if calls[0] != calls[1]:
                ok = False
                print(f"OFF {name}: {k[:60]} {calls[0]} times, {calls[1]} without sampling")
            if k in mine and mine[k]["total_ms"] > 5 and not mine[k].get("stalls", {}).get("samples"):
                bare.append(f"{name}: {k[:60]}, {mine[k]['total_ms']:.1f} ms")
    total = sum(k["calls"] for r in native.values() for k in r["kernels"])
    print(f"{kernels} kernels of regions, {total} launches; without samples: {bare or 'none'}")
    return ok and kernels > 0 and not bare


def has(report, expression):
    r = load(report)
    value = eval(expression, {"r": r, "any": any, "all": all, "sum": sum, "len": len, "max": max, "min": min})
    print(f"{expression}: {value}")
    return bool(value)


WHAT = {f.__name__: f for f in (agree, hottest, own, clean, launches, has)}
if __name__ == "__main__":
    sys.exit(not WHAT[sys.argv[1]](*sys.argv[2:]))
