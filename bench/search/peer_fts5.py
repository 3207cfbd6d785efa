"""SQLite FTS5 on the same pages and queries: `peer_fts5.py PAGES.tsv QUERIES.tsv DB [OUT.json [SECONDS]]`. Answers hold what
the first page of results needs: the ten best by bm25 with a snippet each. Unlike ours they hold neither a count nor facets.
Each query is asked once to warm up, then three times; of every kind as many as fit into the seconds."""

import json
import os
import sqlite3
import sys
import time

pages, queries, path = sys.argv[1:4]
out = sys.argv[4] if len(sys.argv) > 4 else None
limit_s = float(sys.argv[5]) if len(sys.argv) > 5 else 1e9
built = None
if not os.path.exists(path):
    began, cpu = time.time(), time.process_time()
    db = sqlite3.connect(path)
    db.execute("CREATE VIRTUAL TABLE page USING fts5(url UNINDEXED, title, text, tokenize = 'porter unicode61')")
    with open(pages, encoding="utf-8", errors="replace") as lines:
        rows = (line.rstrip("\n").split("\t") for line in lines)
        db.executemany("INSERT INTO page VALUES (?, ?, ?)", (row for row in rows if len(row) == 3))
    db.execute("INSERT INTO page(page) VALUES ('optimize')")
    db.commit()
    db.close()
    built = {"seconds": time.time() - began, "cpu_s": time.process_time() - cpu}
    print(f"built in {built['seconds']:.0f} s ({built['cpu_s']:.0f} s of CPU), {os.path.getsize(path) / 1e6:.0f} MB")

db = sqlite3.connect(path)
count = db.execute("SELECT count(*) FROM page").fetchone()[0]
ask = "SELECT url, title, snippet(page, 2, '<b>', '</b>', '…', 30) FROM page WHERE page MATCH ? ORDER BY rank LIMIT 10"
kinds = {}
for line in open(queries, encoding="utf-8"):
    kind, _, query = line.rstrip("\n").split("\t")
    kinds.setdefault(kind, []).append(query)


def at(values, share):
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


print(f"SQLite {sqlite3.sqlite_version} FTS5, {count} pages")
names = ("queries", "median ms", "p99 ms", "every median", "every p99", "CPU ms")
print(f"{'kind':<12}" + "".join(f"{name:>13}" for name in names))
told = []
for kind, asked in sorted(kinds.items()):
    quickest, every, cpu, began = [], [], 0.0, time.time()
    for query in asked:
        db.execute(ask, (query,)).fetchall()
        tries = []
        for _ in range(3):
            started, busy = time.perf_counter(), time.process_time()
            db.execute(ask, (query,)).fetchall()
            tries.append((time.perf_counter() - started) * 1000)
            cpu += time.process_time() - busy
        quickest.append(min(tries))
        every += tries
        if time.time() - began > limit_s / len(kinds):
            break
    row = (at(quickest, 0.5), at(quickest, 0.99), at(every, 0.5), at(every, 0.99), cpu * 1000 / len(every))
    print(f"{kind:<12}{len(quickest):>13}" + "".join(f"{value:>13.2f}" for value in row))
    keys = ("median_ms", "p99_ms", "every_median_ms", "every_p99_ms", "cpu_ms")
    told.append({"kind": kind, "queries": len(quickest)} | dict(zip(keys, row)))
if out:
    size = os.path.getsize(path)
    with open(out, "w") as file:
        json.dump({"sqlite": sqlite3.sqlite_version, "pages": count, "bytes": size, "built": built, "kinds": told}, file, indent=2)
        file.write("\n")
