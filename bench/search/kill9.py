"""`kill -9` at random instants, of a crawl that feeds its index and of `lycosa index`; then a run to the end and a count.
`kill9.py LYCOSA SIMWEB DIR [KILLS [TRIES [LONGEST]]]`: TRIES crawls (25) are killed KILLS times each (6), after LONGEST seconds at
most (1.2), and so is `lycosa index` on each. DIR must not exist. It ends with 1 if anything is missing or doubled."""

import json
import random
import shutil
import subprocess
import sys
import time

lycosa, simweb, crawl = sys.argv[1:4]
times = int(sys.argv[4]) if len(sys.argv) > 4 else 6
tries = int(sys.argv[5]) if len(sys.argv) > 5 else 25
longest_s = float(sys.argv[6]) if len(sys.argv) > 6 else 1.2
port = "18996"
world = [simweb, "--port", port, "--seed", "5", "--hosts", "12", "--pages", "700"]
server = subprocess.Popen(world, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
server.stdout.readline()
server.stdout.readline()
crawling = [lycosa, "crawl", "http://h0.sim/", "-d", crawl, "--scope", "any", "--depth", "1000", "--delay", "0", "--quiet"]
crawling += ["--ip-delay", "0", "--allow-net", "127.0.0.0/8", "--resolve", f"*:80:127.0.0.1:{port}", "--per-host", "4"]
crawling += ["--index", "--set", "index.commit_pages=25", "--set", "politeness.retry_ms=50"]
dice = random.Random(1)


def indexed():
    urls, offset = [], 0
    while True:
        ask = [lycosa, "search", "NOT qqqq", "-d", crawl, "--all", "--json", "-n", "1000", "--offset", str(offset)]
        answer = json.loads(subprocess.check_output(ask))
        for found in answer["results"]:
            urls += [found["url"]] + found["also_at"]
        if len(answer["results"]) < 1000:
            return urls, answer["total"]
        offset += 1000


def killed(line):
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(dice.uniform(0.05, longest_s))
    alive = process.poll() is None
    process.kill()
    process.wait()
    return alive


def finished(line):
    ended = subprocess.run(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return [text for text in ended.stderr.splitlines() if "contact" not in text] + ["failed"] * (ended.returncode != 0)


def tell(name, kills, said):
    lines = subprocess.check_output([lycosa, "export", "-d", crawl, "-f", "urls"], text=True).splitlines()
    # Feeds and sitemaps are fetched, but not indexed.
    is_page = lambda line: line["outcome"] == "fetched" and "xml" not in (line.get("content_type") or "")
    fetched = {line["url"] for line in map(json.loads, lines) if is_page(line)}
    urls, total = indexed()
    missing, doubled = len(fetched - set(urls)), total - len(set(urls) & fetched)
    print(f"{name}: {kills} kills, {len(fetched)} pages, {total} indexed, {missing} missing, {doubled} too many {said or ''}", flush=True)
    return missing + abs(doubled) + len(said)


wrong = all_kills = 0
for number in range(1, tries + 1):
    kills = sum(killed(crawling) for _ in range(times))
    wrong += tell(f"{number} crawl --index", kills, finished(crawling))
    all_kills += kills
    index = [lycosa, "index", "-d", crawl]
    kills = sum(killed(index + ["--rebuild"] * (round % 3 == 0)) for round in range(times))
    wrong += tell(f"{number} index", kills, finished(index))
    all_kills += kills
    shutil.rmtree(crawl)
print(f"{tries} tries, {all_kills} kills, {wrong} wrong")
server.kill()
sys.exit(wrong > 0)
