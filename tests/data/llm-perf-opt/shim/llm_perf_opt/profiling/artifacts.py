"""What llm-perf-opt's manual tests need of it: the folder of a region."""
import re


def sanitize_region_label(label: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", label.replace("::", "__"))
