"""planted_first.py REPORT CAUSES REGIONS: whether the first finding is one of these causes at one of these regions."""
import json
import sys

first = json.load(open(sys.argv[1]))["findings"][0]
right = first["cause"] in sys.argv[2].split("|") and first["where"] in sys.argv[3].split("|")
if not right:
    print(f"{first['cause']} at {first['where']}: {first['says']}")
sys.exit(not right)
