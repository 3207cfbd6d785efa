//! What hostile pages and servers write reaches neither terminal nor file with its control characters, whatever command is
//! asked: every command is run on a crawl of such pages, and the bytes of all that it writes are looked at.

use std::path::{Path, PathBuf};

use crate::binary::{Run, lycosa};
use crate::serving::{Pages, Serving, response};
use crate::usage::all_commands;

/// Clipboard, window title, clear screen, bell, backspace, delete, a control sequence by U+009B, marks that turn text around,
/// a line separator.
const EVIL: &str = "\x1b]52;c;ZXZpbA==\x07\x1b]0;owned\x07\x1b[2J\x08\x08\x7f\u{9b}31m\u{85}\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}";

/// A page that has it wherever text is read from.
fn page(name: &str, more: &str) -> Vec<u8> {
    let numeric = "&#27;[31m&#x7f;&#x202e;";
    let formula = "=cmd|'/c calc'!A1";
    let body = format!(
        "<!doctype html><html lang='en{EVIL}'><head><title>{name} wolf {EVIL}{numeric}</title>\
         <meta name='author' content='{EVIL}author'><meta name='description' content='d{EVIL}'>\
         <meta name='keywords' content='{EVIL}k'><meta name='generator' content='g{EVIL}'>\
         <meta property='og:site_name' content='s{EVIL}'><meta property='article:published_time' content='2024{EVIL}'>\
         <meta name='robots' content='unavailable_after: {EVIL}'><link rel=canonical href='/{name}{EVIL}'>\
         <script type='application/ld+json'>{{\"@type\":\"Article\",\"headline\":\"{EVIL}\"}}</script></head>\
         <body{EVIL}><h1>{EVIL} heading {name}</h1><h2>{formula}</h2>\
         <p>The wolf{EVIL} and the spider{numeric} met in the wood and {more} spoke about the winter that was to come.</p>\
         <pre>code{EVIL}\n```\n{EVIL}more</pre><{name}{EVIL}x>custom</{name}{EVIL}x>\
         <a href='/a{EVIL}?q={EVIL}'>anchor{EVIL}</a><a href='/b'>b{EVIL}</a><a href='/private/x'>p</a>\
         <a href='/moved'>m</a><a href='/lost'>l</a><a href='http://other.example/{EVIL}'>o{EVIL}</a>\
         <img src='/i{EVIL}.png' alt='alt{EVIL}'><p>Again the wolf {more} said that spiders are no insects at all.</p></body></html>"
    );
    let head = format!(
        "Content-Type: text/html; charset=utf-8; x=\"{EVIL}\"\r\nX-Evil: {EVIL}\r\nETag: \"{EVIL}{more}\"\r\n"
    );
    response("200 OK", head.as_bytes(), body.as_bytes())
}

fn pages() -> Pages {
    let mut pages = Pages::new();
    let robots = format!(
        "User-agent: *\nDisallow: /private{EVIL}\nDisallow: /private\nSitemap: http://other.example/{EVIL}\n"
    );
    pages.insert("/robots.txt".into(), response("200 OK", b"", robots.as_bytes()));
    // Heads with control characters may be refused; then there are others.
    pages.insert("/head".into(), page("head", "once"));
    for name in ["", "b"] {
        let mut whole = page(&format!("p{name}"), "twice");
        let plain = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\nContent-Length: ";
        let body = whole.split_off(whole.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4);
        let head = [&plain[..], body.len().to_string().as_bytes(), b"\r\n\r\n"].concat();
        pages.insert(format!("/{name}"), [head, body].concat());
    }
    pages.insert("/moved".into(), response("302 Found", format!("Location: /b?{EVIL}\r\n").as_bytes(), b""));
    pages.insert("/lost".into(), response(&format!("404 {EVIL}"), b"", EVIL.as_bytes()));
    pages
}

/// Fails the test if bytes hold what a terminal acts upon.
#[track_caller]
fn expect_harmless(what: &str, bytes: &[u8]) {
    let text = String::from_utf8(bytes.to_vec()).unwrap_or_else(|_| panic!("{what}: not UTF-8"));
    let text = text.replace("\r\n", "\n");
    let bad = text.char_indices().find(|&(_, c)| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    });
    if let Some((at, c)) = bad {
        let around: String =
            text[..at].chars().rev().take(80).collect::<Vec<_>>().into_iter().rev().collect();
        panic!("{what}: U+{:04X} after {around:?}", u32::from(c));
    }
}

#[track_caller]
fn expect_harmless_run(args: &[&str]) -> Run {
    let run = lycosa(args);
    let what = format!("lycosa {}", args.join(" ").escape_default());
    expect_harmless(&format!("{what}: stdout"), &run.raw);
    expect_harmless(&format!("{what}: stderr"), run.err.as_bytes());
    assert_ne!(run.code, 101, "{what}: {}", run.err);
    run
}

/// The files below a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn no_command_writes_control_characters_of_a_hostile_crawl() {
    let site = Serving::start(pages());
    let dir = tempfile::tempdir().unwrap();
    let out = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    // The directory's own name is shown, too.
    let d = &out("data\x1b[31m\u{9b}\u{202e}\x07");
    let seed = site.url("/");
    let open = [
        "--allow-net",
        "127.0.0.0/8",
        "--delay",
        "0",
        "--ip-delay",
        "0",
        "--set",
        "politeness.retry_ms=10",
        "--set",
        "politeness.max_tries=1",
    ];
    let head = site.url("/head");
    let private = site.url("/private/y");
    let crawl = [&["crawl", &seed, &head, &private, "-d", d, "--index", "-vv"][..], &open].concat();
    expect_harmless_run(&crawl);
    let urls: Vec<String> = lycosa(&["export", "-d", d, "-f", "urls"])
        .json_lines()
        .iter()
        .map(|line| line["url"].as_str().unwrap().to_owned())
        .collect();
    assert!(urls.len() >= 6, "{urls:?}");
    // The second visit finds another page.
    site.pages.lock().unwrap().insert("/b".into(), page("b", "never"));
    let html = &out("page\x1b[31m.html");
    let body = pages().remove("/").unwrap();
    std::fs::write(html, &body).unwrap();
    let other = &out("other\x1b.html");
    std::fs::write(other, page("other", "seldom")).unwrap();
    let robots = &out("robots\x1b.txt");
    std::fs::write(robots, &pages()["/robots.txt"]).unwrap();
    let (queries, qrels) = (&out("queries\x1b"), &out("qrels\x1b"));
    std::fs::write(queries, format!("q{EVIL}\twolf {EVIL}\n")).unwrap();
    std::fs::write(qrels, format!("q{EVIL}\t{seed}\t1\n")).unwrap();
    let list = &out("list\x1b");
    std::fs::write(list, format!("http://{EVIL}/\n")).unwrap();
    let pairs = &out("pairs");
    std::fs::write(pairs, format!("{}\n", serde_json::json!({ "old": html, "new": other, "host": EVIL })))
        .unwrap();
    let evil_url = &format!("http://x.example/{EVIL}");
    let evil_host = &format!("http://x{EVIL}.example/");
    let (demo, markdown) = (&out("demo\x1b[31m"), &out("markdown"));
    let mirror = &out("mirror\x1b[31m");
    let written: Vec<String> = ["jsonl", "urls", "markdown.md", "svg", "cdxj"].map(out).into();
    for command in all_commands() {
        let mut runs: Vec<Vec<&str>> =
            vec![vec!["--help"], vec![EVIL.trim_matches('\u{2028}')], vec!["--no-such\x1b[31m"]];
        match command.as_str() {
            "crawl" => {
                runs.push([&[&seed, "-d", d][..], &open].concat());
                runs.push([&["-d", d, "--json"][..], &open].concat());
                runs.push([&["-d", d, "-q", "-vv"][..], &open].concat());
                runs.push(vec![list, "-d", d]);
                runs.push(vec![evil_host, "-d", d]);
                runs.push(vec![&seed, "-d", d, "--set", "a\x1b[31m=b\x1b"]);
                runs.push(vec!["--print-config"]);
            }
            "refresh" => {
                runs.push([&["-d", d, "-vv"][..], &open].concat());
                runs.push([&["-d", d, "--json"][..], &open].concat());
            }
            "node" | "coordinator" => {
                runs.push(vec!["--nats", "nats://127.0.0.1:1\x1b", "--node", "n\x1b[31m"])
            }
            "depot" => {
                runs.push(vec!["-d", d, "--cert", "c\x1b[31m", "--key", "k\x1b", "--token-file", list])
            }
            "submit" => {
                runs.push(vec![evil_url, "-d", d]);
                runs.push(vec![evil_host, "-d", d]);
                runs.push(vec![list, "-d", d]);
            }
            "status" | "report" => runs.extend([vec![d.as_str()], vec![d, "--json"]]),
            "why" | "history" | "diff" | "links" => {
                for url in urls.iter().chain([evil_url, evil_host]) {
                    runs.extend([vec![url, "-d", d], vec![url, "-d", d, "--json"]]);
                }
                if command == "links" {
                    runs.extend([vec![&seed, "-d", d, "--in"], vec![&seed, "-d", d, "--out"]]);
                }
            }
            "cat" => {
                for url in urls.iter().chain([evil_url]) {
                    runs.push(vec![url, "-d", d, "--json"]);
                }
            }
            "index" => runs.extend([vec!["-d", d], vec!["-d", d, "--rebuild", "--json"]]),
            "search" => {
                for form in ["--all", "--json", "--html", "--explain"] {
                    runs.push(vec!["wolf", "-d", d, form]);
                }
                runs.push(vec!["wo", "-d", d, "--suggest"]);
                runs.push(vec!["(wolf\x1b[31m", "-d", d]);
                runs.push(vec!["title:\x1b[31mwolfs", "-d", d]);
            }
            "eval" => {
                runs.push(vec!["--queries", queries, "--qrels", qrels, "-d", d]);
                runs.push(vec!["--queries", queries, "--qrels", qrels, "-d", d, "--json"]);
            }
            "rank" => {
                runs.extend([vec![d.as_str()], vec![d, "--json"], vec![d, "--curve", "--svg", &written[3]]]);
            }
            "seeds" => runs.extend([vec!["-d", d], vec!["-d", d, "--json"]]),
            "export" => {
                for (format, file) in [("jsonl", 0), ("urls", 1), ("markdown", 2), ("cdxj", 4)] {
                    runs.push(vec!["-d", d, "-f", format]);
                    runs.push(vec![
                        "-d",
                        d,
                        "-f",
                        format,
                        "-o",
                        if file == 2 { markdown } else { &written[file] },
                    ]);
                }
                runs.push(vec!["-d", d, "-f", "wacz", "-o", "x\x1b[31m/y"]);
                runs.push(vec!["-d", d, "-f", "warc", "-o", d, "--json"]);
            }
            "robots" => {
                runs.extend([
                    vec![robots.as_str()],
                    vec![robots, "--json"],
                    vec![robots, "/private", evil_url, evil_host],
                ]);
                runs.push(vec![robots, "--json", "/private\x1b", evil_url]);
                runs.push(vec![&seed, "--allow-net", "127.0.0.0/8", "/private/x"]);
            }
            "canon" => {
                runs.extend([vec![evil_url.as_str(), evil_host], vec!["--json", evil_url, evil_host]]);
                runs.push(vec!["--seed", &seed, evil_url, "--base", &seed]);
            }
            "inspect" => {
                for form in ["--text", "--links", "--markdown", "--json", "--content-type=text/html"] {
                    runs.push(vec![html, form, "--base", &seed]);
                    runs.push(vec![&seed, form, "--allow-net", "127.0.0.0/8"]);
                }
                runs.push(vec!["no\x1b[31m"]);
            }
            "compare" => {
                runs.extend([
                    vec![html.as_str(), other],
                    vec![html, other, "--json"],
                    vec!["--pairs", pairs],
                ]);
            }
            "mirror" => {
                runs.push(vec!["--from", d, "--out", mirror]);
                runs.push(vec!["--from", d, "--out", mirror, "--json", "--missing", "page"]);
            }
            "demo" => runs.push(vec!["--pages", "10", "-d", demo]),
            other => panic!("say here how `lycosa {other}` is run on a hostile crawl"),
        }
        let mut done = 0;
        for args in runs {
            done += usize::from(expect_harmless_run(&[&[command.as_str()][..], &args].concat()).code == 0);
        }
        assert!(done >= 1, "{command} was never done");
    }
    // Files, too: what was exported, and what the crawl itself leaves for people.
    let mut looked_at = 0;
    let left = ["report.json", "lycosa.toml"].map(|name| Path::new(d).join(name));
    for path in files(Path::new(markdown)).into_iter().chain(written.iter().map(PathBuf::from)).chain(left) {
        if let Ok(bytes) = std::fs::read(&path) {
            expect_harmless(&path.display().to_string(), &bytes);
            looked_at += 1;
        }
    }
    assert!(looked_at >= 7, "{looked_at}");
}
