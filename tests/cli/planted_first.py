"""planted_first.py REPORT CAUSES REGIONS…: checks that the first finding is one of these causes at one of these regions. Further pairs are for the next findings."""
import json
import sys

findings, truth = json.load(open(sys.argv[1]))["findings"], sys.argv[2:]
right = True
for finding, causes, regions in zip(findings, truth[::2], truth[1::2]):
    if finding["cause"] not in causes.split("|") or finding["where"] not in regions.split("|"):
        print(f"{finding['cause']} at {finding['where']}: {finding['says']} {finding['gain']}")
        right = False
sys.exit(not right or len(findings) < len(truth) // 2)
