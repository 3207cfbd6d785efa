"""Asks with the command line, one process a query: `ask.py LYCOSA CRAWL QUERIES.tsv`. The times are those of the search
as the program tells them (`elapsed_us`), in a process that has just opened the index; each query is asked once before, and
then three times, of which the quickest counts: other programs may be at work on the machine."""

import json
import subprocess
import sys

lycosa, crawl, path = sys.argv[1:4]
times, found = {}, {}
for line in open(path, encoding="utf-8"):
    kind, query, _ = line.rstrip("\n").split("\t")
    tries = []
    for _ in range(4):
        answer = json.loads(subprocess.check_output([lycosa, "search", query, "-d", crawl, "--json"]))
        tries.append(answer["elapsed_us"] / 1000)
    times.setdefault(kind, []).append(min(tries[1:]))
    found.setdefault(kind, []).append(answer["total"])
print(f"{'kind':<12}{'queries':>8}{'median ms':>12}{'p99 ms':>12}{'most ms':>12}{'pages found':>14}")
for kind, values in sorted(times.items()):
    values.sort()
    at = lambda share: values[min(int(len(values) * share), len(values) - 1)]
    mean = sum(found[kind]) // len(values)
    print(f"{kind:<12}{len(values):>8}{at(0.5):>12.2f}{at(0.99):>12.2f}{values[-1]:>12.2f}{mean:>14}")
