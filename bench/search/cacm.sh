#!/bin/sh
# CACM end to end: `cacm.sh DIR [LYCOSA]`. DIR holds the collection, which is not part of this project:
#   html/CACM-0001.html …   the 3,204 pages
#   topics.txt              the 64 queries, <DOC><DOCNO> n </DOCNO> … </DOC>
#   qrels.txt               the judgements, in the format of TREC
# Anserini (github.com/castorini/anserini, src/main/resources/cacm, and castorini/anserini-tools) carries all three.
set -eu
dir=$1
lycosa=${2:-lycosa}
port=${PORT:-18473}
work=$(mktemp -d)
python3 - "$dir/topics.txt" > "$work/queries.txt" <<'P'
import re, sys
for number, text in re.findall(r"<DOCNO>\s*(\d+)\s*</DOCNO>(.*?)</DOC>", open(sys.argv[1]).read(), re.S):
    print(number, " ".join(text.split()))
P
python3 -m http.server --bind 127.0.0.1 --directory "$dir/html" "$port" > "$work/server.log" 2>&1 &
server=$!
trap 'kill $server; rm -rf "$work"' EXIT
sleep 1
"$lycosa" crawl "http://127.0.0.1:$port/" -d "$work/crawl" --allow-net 127.0.0.0/8 --delay 0 --ip-delay 0 --per-host 4 --quiet
"$lycosa" index -d "$work/crawl"
"$lycosa" eval --queries "$work/queries.txt" --qrels "$dir/qrels.txt" -d "$work/crawl"
[ -z "${KEEP:-}" ] || cp -r "$work" "$KEEP"
