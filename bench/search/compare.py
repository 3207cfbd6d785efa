"""Ours and SQLite FTS5 in one run: `compare.py SEARCH_BENCH INDEX DIR [SECONDS]`. DIR holds queries.tsv and pages.tsv as
`search_bench` writes them, and gets fts5.db, ours.json, fts5.json and comparison.md."""

import json
import os
import subprocess
import sys

bench, index, folder = sys.argv[1:4]
seconds = sys.argv[4] if len(sys.argv) > 4 else "600"
here = os.path.dirname(os.path.abspath(__file__))
name = lambda file: os.path.join(folder, file)
if not os.path.exists(name("queries.tsv")):
    subprocess.check_call([bench, "queries", index, "250", name("queries.tsv")])
if not os.path.exists(name("pages.tsv")):
    subprocess.check_call([bench, "export", index, name("pages.tsv")])
load = os.getloadavg()[0]
subprocess.check_call([bench, "run", index, name("queries.tsv"), name("ours.json")])
peer = [os.path.join(here, "peer_fts5.py"), name("pages.tsv"), name("queries.tsv"), name("fts5.db"), name("fts5.json"), seconds]
subprocess.check_call([sys.executable, *peer])
ours, theirs = (json.load(open(name(file))) for file in ("ours.json", "fts5.json"))
rows = {row["kind"]: row for row in theirs["kinds"]}
with open(name("comparison.md"), "w") as out:
    out.write(f"{ours['pages']:,} pages; SQLite {theirs['sqlite']}; load {load:.1f} at the beginning. Quickest of three for each query.\n\n")
    out.write("| kind | our median | our p99 | our CPU | FTS5 median | FTS5 p99 | FTS5 CPU | median, times as quick |\n")
    out.write("| --- | --- | --- | --- | --- | --- | --- | --- |\n")
    for row in ours["kinds"]:
        peer = rows[row["kind"]]
        figures = [row["median_ms"], row["p99_ms"], row["cpu_ms"], peer["median_ms"], peer["p99_ms"], peer["cpu_ms"]]
        times = " | ".join(f"{figure:.1f} ms" for figure in figures)
        out.write(f"| {row['kind']} | {times} | {peer['median_ms'] / row['median_ms']:.0f} |\n")
print(open(name("comparison.md")).read())
