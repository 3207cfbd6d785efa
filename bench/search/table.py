"""Recall and precision of five kinds of queries against sets that are known from the pages themselves.

`table.py CRAWL [LYCOSA]`: reads every page with `lycosa export`, finds out by a stemmer of its own (snowballstemmer, from
PyPI) and a plain scan which pages each query is meant to find, and has `lycosa eval` measure the answers."""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile

import snowballstemmer

crawl, lycosa = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "lycosa"
stemmer = snowballstemmer.stemmer("english")
stems = {}
# A word as it is written, for each stem.
written = {}


def stem(word):
    if word not in stems:
        stems[word] = stemmer.stemWord(word)
        written.setdefault(stems[word], word)
    return stems[word]


def terms(text):
    return [stem(word) for word in re.findall(r"[^\W_]+", text.lower())]


pages, anchors = {}, collections.defaultdict(list)
export = subprocess.Popen([lycosa, "export", "-d", crawl, "-f", "jsonl"], stdout=subprocess.PIPE, text=True)
for line in export.stdout:
    page = json.loads(line)
    fields = [page["title"], page["text"], page["url"]] + [heading["text"] for heading in page["headings"]]
    pages[page["url"]] = [terms(field) for field in fields]
    for link in page["links"]:
        anchors[link["url"]].append(link["anchor"])
for url, texts in anchors.items():
    if url in pages:
        pages[url] += [terms(text) for text in texts]
words = {url: {term for field in fields for term in field} for url, fields in pages.items()}


def has(word):
    return {url for url, known in words.items() if stem(word) in known}


def phrase(text):
    wanted = terms(text)
    ends = lambda field: any(field[at : at + len(wanted)] == wanted for at in range(len(field)))
    return {url for url, fields in pages.items() if any(ends(field) for field in fields)}


# Words that some pages have, but far from all: a fifth of them at most.
often = collections.Counter(term for known in words.values() for term in known)
plain = [term for term, count in sorted(often.items()) if len(pages) / 50 < count < len(pages) / 5]
plain = [written[term] for term in plain if term.isalpha() and len(term) > 3]
one, two, three, four, five, six = (plain[len(plain) * at // 6] for at in range(6))
running = next(field for fields in pages.values() for field in fields if len(field) > 60)
spoken = " ".join(written[term] for term in [term for term in running if term.isalpha()][20:22])
rows = [
    ("words", f"{one} {two}", has(one) | has(two)),
    ("phrase", f'"{spoken}"', phrase(spoken)),
    ("or", f"{two} OR {three}", has(two) | has(three)),
    ("and", f"{four} AND {five}", has(four) & has(five)),
    ("not", f"{five} NOT {six}", has(five) - has(six)),
]
with tempfile.TemporaryDirectory() as work:
    queries, qrels = os.path.join(work, "queries"), os.path.join(work, "qrels")
    with open(queries, "w") as out:
        out.writelines(f"{kind} {query}\n" for kind, query, _ in rows)
    with open(qrels, "w") as out:
        out.writelines(f"{kind} 0 {url} 1\n" for kind, _, urls in rows for url in sorted(urls))
    told = subprocess.check_output(
        [lycosa, "eval", "--queries", queries, "--qrels", qrels, "-d", crawl, "--operators", "--depth", "1000000", "--json"]
    )
figures = {row["query"]: row["figures"] for row in json.loads(told)["queries"]}
print(f"{len(pages)} pages")
print(f"{'query':<40}{'relevant':>10}{'found':>8}{'recall':>9}{'precision':>11}")
for kind, query, urls in rows:
    row = figures[kind]
    print(f"{query:<40}{len(urls):>10}{row['retrieved']:>8.0f}{row['recall']:>9.1%}{row['precision']:>11.1%}")
