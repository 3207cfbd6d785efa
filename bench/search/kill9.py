"""`kill -9` at random instants, of a crawl that feeds its index and of `lycosa index`; then a run to the end and a count.
`kill9.py LYCOSA SIMWEB DIR [ROUNDS]`; DIR must not exist."""

import json
import random
import subprocess
import sys
import time

lycosa, simweb, crawl = sys.argv[1:4]
rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 8
port = "18996"
world = [simweb, "--port", port, "--seed", "5", "--hosts", "40", "--pages", "3000"]
server = subprocess.Popen(world, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
server.stdout.readline()
server.stdout.readline()
crawling = [lycosa, "crawl", "http://h0.sim/", "-d", crawl, "--scope", "any", "--depth", "1000", "--delay", "0", "--quiet"]
crawling += ["--ip-delay", "0", "--allow-net", "127.0.0.0/8", "--resolve", f"*:80:127.0.0.1:{port}", "--per-host", "4"]
crawling += ["--index", "--set", "index.commit_pages=150"]
dice = random.Random(1)


def indexed():
    urls, offset = [], 0
    while True:
        ask = [lycosa, "search", "NOT qqqq", "-d", crawl, "--all", "--json", "-n", "1000", "--offset", str(offset)]
        answer = json.loads(subprocess.check_output(ask))
        for found in answer["results"]:
            urls += [found["url"]] + found["also_at"]
        if len(answer["results"]) < 1000:
            return urls
        offset += 1000


def killed(line, longest_s):
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(dice.uniform(0.1, longest_s))
    alive = process.poll() is None
    process.kill()
    process.wait()
    return alive


def tell(name, kills):
    lines = subprocess.check_output([lycosa, "export", "-d", crawl, "-f", "urls"], text=True).splitlines()
    # Feeds and sitemaps are fetched, but not indexed.
    is_page = lambda line: line["outcome"] == "fetched" and "xml" not in (line.get("content_type") or "")
    fetched = {line["url"] for line in map(json.loads, lines) if is_page(line)}
    urls = indexed()
    missing, doubled = len(fetched - set(urls)), len(urls) - len(set(urls))
    print(f"{name}: {kills} kills, {len(fetched)} pages, {len(urls)} indexed, {missing} missing, {doubled} doubled")


kills = sum(killed(crawling, 3.0) for _ in range(rounds))
subprocess.check_call(crawling)
tell("crawl --index", kills)
index = [lycosa, "index", "-d", crawl]
kills = sum(killed(index + ["--rebuild"] * (number % 3 == 0), 6.0) for number in range(rounds))
subprocess.check_call(index, stdout=subprocess.DEVNULL)
tell("index", kills)
server.kill()
