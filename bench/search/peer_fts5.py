"""SQLite FTS5 on the same pages and queries: `peer_fts5.py PAGES.tsv QUERIES.tsv DB`. Answers hold what the first page
of results needs: the ten best by bm25 with a snippet each. Unlike ours they hold neither a count nor facets."""

import os
import sqlite3
import sys
import time

pages, queries, path = sys.argv[1:4]
if not os.path.exists(path):
    began = time.time()
    db = sqlite3.connect(path)
    db.execute("CREATE VIRTUAL TABLE page USING fts5(url UNINDEXED, title, text, tokenize = 'porter unicode61')")
    with open(pages, encoding="utf-8", errors="replace") as lines:
        rows = (line.rstrip("\n").split("\t") for line in lines)
        db.executemany("INSERT INTO page VALUES (?, ?, ?)", (row for row in rows if len(row) == 3))
    db.execute("INSERT INTO page(page) VALUES ('optimize')")
    db.commit()
    db.close()
    print(f"built in {time.time() - began:.0f} s, {os.path.getsize(path) / 1e6:.0f} MB")

db = sqlite3.connect(path)
ask = "SELECT url, title, snippet(page, 2, '<b>', '</b>', '…', 30) FROM page WHERE page MATCH ? ORDER BY rank LIMIT 10"
limit = float(sys.argv[4]) if len(sys.argv) > 4 else 1e9
times = {}
with open(queries, encoding="utf-8") as lines:
    asked = [line.rstrip("\n").split("\t") for line in lines]
began = time.time()
for kind, _, query in asked:
    tries = []
    for _ in range(4):
        started = time.perf_counter()
        db.execute(ask, (query,)).fetchall()
        tries.append((time.perf_counter() - started) * 1000)
    # Once to warm up, then the quickest of three, as for us.
    times.setdefault(kind, []).append(min(tries[1:]))
    if time.time() - began > limit:
        break
print(f"SQLite {sqlite3.sqlite_version} FTS5")
print(f"{'kind':<12}{'queries':>8}{'median ms':>12}{'p99 ms':>12}{'most ms':>12}")
for kind, values in sorted(times.items()):
    values.sort()
    at = lambda share: values[min(int(len(values) * share), len(values) - 1)]
    print(f"{kind:<12}{len(values):>8}{at(0.5):>12.2f}{at(0.99):>12.2f}{values[-1]:>12.2f}")
