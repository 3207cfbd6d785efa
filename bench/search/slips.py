"""Words of an index with one letter wrong: `slips.py LYCOSA CRAWL PAGES.tsv N`. Counts those for which `lycosa search`
offers the right word. PAGES.tsv (from queries.py) tells which words there are; what is a word itself is no slip."""

import json
import random
import re
import subprocess
import sys

lycosa, crawl, pages, number = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
known = set()
for line in open(pages, encoding="utf-8"):
    known.update(re.findall(r"[^\W_]+", line.lower()))
words = sorted(word for word in known if word.isascii() and word.isalpha() and len(word) > 4)
dice = random.Random(11)
letters = "abcdefghijklmnopqrstuvwxyz"
right, made, wrong = 0, 0, []
while made < number:
    word = dice.choice(words)
    at = dice.randrange(len(word) - 1)
    slip = dice.choice(
        (
            word[:at] + word[at + 1 :],
            word[:at] + dice.choice(letters) + word[at:],
            word[:at] + dice.choice(letters) + word[at + 1 :],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        )
    )
    if slip in known:
        continue
    made += 1
    answer = json.loads(subprocess.check_output([lycosa, "search", slip, "-d", crawl, "--json", "-n", "1"]))
    if answer["did_you_mean"] == word:
        right += 1
    else:
        wrong.append(f"{slip}: {word}, not {answer['did_you_mean']}")
print(f"{len(words)} words; {right} of {made} slips put right ({right / made:.1%})")
print("\n".join(wrong[:15]))
