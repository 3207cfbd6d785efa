"""Recall and precision of five kinds of queries against sets that are known from the pages themselves.

`table.py CRAWL [LYCOSA [QUERIES]]`: reads every page with `lycosa export`, finds out by stemmers of its own (snowballstemmer, from
PyPI) and a plain scan which pages each query is meant to find, and has `lycosa eval` measure the answers. A page is meant
to be found by a word if it has a form of it in its own language, in its text (all of it, or what it is about), title, headings,
address, author or the texts of links to it. The kinds are those of the table in the paper; QUERIES of each are asked (40)."""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile

import snowballstemmer

crawl = sys.argv[1]
lycosa = sys.argv[2] if len(sys.argv) > 2 else "lycosa"
number = int(sys.argv[3]) if len(sys.argv) > 3 else 40
names = {"en": "english", "de": "german", "fr": "french", "es": "spanish", "ru": "russian", "ar": "arabic"}
stemmers = {code: snowballstemmer.stemmer(name) for code, name in names.items()}
stems = {}
# An English word as it is written, for each stem.
written = {}


def stem(word, language):
    key = (word, language)
    if key not in stems:
        stems[key] = stemmers[language].stemWord(word) if language in stemmers else word
        if language == "en":
            written.setdefault(stems[key], word)
    return stems[key]


def terms(text, language):
    return [stem(word, language) for word in re.findall(r"[^\W_]+", text.lower())]


pages, languages, anchors = {}, {}, collections.defaultdict(list)
export = subprocess.Popen([lycosa, "export", "-d", crawl, "-f", "jsonl"], stdout=subprocess.PIPE, text=True)
for line in export.stdout:
    page = json.loads(line)
    if page["noindex"] or "xml" in page["content_type"] or page["url"].endswith("/robots.txt"):
        continue
    language = (page["language"] or "").split("-")[0].lower()
    fields = [page["title"], page["main_text"], page["text"], page["url"], page["author"]] + [heading["text"] for heading in page["headings"]]
    pages[page["url"]] = [terms(field or "", language) for field in fields]
    languages[page["url"]] = language
    for link in page["links"]:
        anchors[link["url"]].append(link["anchor"])
for url, texts in anchors.items():
    if url in pages:
        pages[url] += [terms(text, languages[url]) for text in texts]
words = {url: {term for field in fields for term in field} for url, fields in pages.items()}


def has(word):
    return {url for url, known in words.items() if stem(word, languages[url]) in known}


def phrase(text):
    found = set()
    for url, fields in pages.items():
        wanted = terms(text, languages[url])
        if any(field[at : at + len(wanted)] == wanted for field in fields for at in range(len(field))):
            found.add(url)
    return found


# English words that some pages have, but far from all: a fifth of them at most.
often = collections.Counter(term for url, known in words.items() if languages[url] == "en" for term in known)
plain = [term for term, count in sorted(often.items()) if len(pages) / 100 < count < len(pages) / 5]
plain = [written[term] for term in plain if term.isalpha() and term.isascii() and len(term) > 3]
texts = [max(fields, key=len) for url, fields in sorted(pages.items()) if languages[url] == "en"]


def pick(place):
    return plain[place * 7919 % len(plain)]


def spoken(place):
    running = [term for term in texts[place * 104729 % len(texts)] if term.isalpha() and term.isascii()]
    return " ".join(written[term] for term in running[20:22])


kinds = {
    "words": ("Web crawling", 90, lambda a, b, _: (f"{a} {b}", has(a) | has(b))),
    "phrase": ("“ASP.NET source code”", 80, lambda a, b, place: (f'"{spoken(place)}"', phrase(spoken(place)))),
    "or": ("Sport or game", 100, lambda a, b, _: (f"{a} OR {b}", has(a) | has(b))),
    "and": ("HTML and Java Script", 70, lambda a, b, _: (f"{a} AND {b}", has(a) & has(b))),
    "not": ("Internet not web", 100, lambda a, b, _: (f"{a} NOT {b}", has(a) - has(b))),
}
rows = []
for kind, (_, _, make) in kinds.items():
    place = made = 0
    while made < number and place < 100 * number:
        place += 1
        query, relevant = make(pick(2 * place), pick(2 * place + 1), place)
        # A set that is empty has no recall.
        if relevant:
            made += 1
            rows.append((f"{kind}-{made}", query, relevant))
with tempfile.TemporaryDirectory() as work:
    queries, qrels = os.path.join(work, "queries"), os.path.join(work, "qrels")
    with open(queries, "w") as out:
        out.writelines(f"{name} {query}\n" for name, query, _ in rows)
    with open(qrels, "w") as out:
        out.writelines(f"{name} 0 {url} 1\n" for name, _, urls in rows for url in sorted(urls))
    told = subprocess.check_output(
        [lycosa, "eval", "--queries", queries, "--qrels", qrels, "-d", crawl, "--operators", "--depth", "1000000", "--json"]
    )
figures = {row["query"]: row["figures"] for row in json.loads(told)["queries"]}
print(f"{len(pages)} pages, {number} queries of each kind\n")
print("| kind | for example | relevant | found | recall | precision | in the paper: query | recall | precision |")
print("| --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: |")
for kind, (theirs, recall, _) in kinds.items():
    own = [(query, urls, figures[name]) for name, query, urls in rows if name.startswith(kind + "-")]
    mean = lambda value: sum(value(row) for row in own) / len(own)
    print(
        f"| {kind} | `{own[0][0]}` | {mean(lambda row: len(row[1])):.1f} | {mean(lambda row: row[2]['retrieved']):.1f} "
        f"| {mean(lambda row: row[2]['recall']):.1%} | {mean(lambda row: row[2]['precision']):.1%} | {theirs} | {recall} % | 100 % |"
    )
