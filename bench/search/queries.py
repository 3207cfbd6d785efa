"""Queries from the words of a crawl's own pages: `queries.py LYCOSA CRAWL N QUERIES.tsv [PAGES.tsv]`. N of each kind, every
word as often as it is used; columns are the kind, the query, and the same for FTS5. With a fifth name all pages are
written there, for a peer."""

import json
import random
import re
import subprocess
import sys

lycosa, crawl, number, path = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
pages_path = sys.argv[5] if len(sys.argv) > 5 else None
export = subprocess.Popen([lycosa, "export", "-d", crawl, "-f", "jsonl"], stdout=subprocess.PIPE, text=True)
texts = []
pages = open(pages_path, "w", encoding="utf-8") if pages_path else None
flat = lambda text: re.sub(r"\s+", " ", text)
for line in export.stdout:
    page = json.loads(line)
    words = re.findall(r"[a-z]+", page["main_text"].lower())
    if len(words) > 40 and len(texts) < 5000:
        texts.append(words)
    if pages:
        pages.write("\t".join((page["url"], flat(page["title"]), flat(page["text"]))) + "\n")
    elif len(texts) == 5000:
        export.kill()
        break
if pages:
    pages.close()

dice = random.Random(6)
long = lambda: next(w for w in iter(lambda: dice.choice(dice.choice(texts)), None) if len(w) > 3)
with open(path, "w", encoding="utf-8") as out:
    for round in range(number):
        a, b, c = long(), long(), long()
        text = dice.choice(texts)
        at = dice.randrange(len(text) - 6)
        first, second, later = text[at], text[at + 1], text[at + 2 + dice.randrange(3)]
        boolean = [
            (f"{a} AND {b}", f"{a} AND {b}"),
            (f"({a} OR {b}) AND {c}", f"({a} OR {b}) AND {c}"),
            (f"{a} AND {b} AND NOT {c}", f"({a} AND {b}) NOT {c}"),
        ][round % 3]
        out.write(f"two words\t{a} {b}\t{a} OR {b}\n")
        out.write(f'phrase\t"{first} {second}"\t"{first} {second}"\n')
        out.write(f"near\t{first} NEAR/5 {later}\tNEAR({first} {later}, 5)\n")
        out.write("boolean\t" + "\t".join(boolean) + "\n")
