//! Crawl directories that earlier versions wrote: this version opens them and gives the answers recorded then.
//!
//! `cargo xtask fixtures` makes a set (`--answers` records the answers anew where they are meant to change). An answer in
//! JSON may have more fields than were recorded; everything else must be the same.

use std::path::{Path, PathBuf};
use std::process::Command;

use lycosa_simweb::WorldConfig;
use serde_json::Value;
use tempfile::TempDir;

use crate::binary::{Run, command, finish, lycosa};
use crate::site::Site;

/// Scores and ranks are sums of floating-point numbers; another order of adding them is no other answer.
const TOLERANCE: f64 = 1e-4;
/// The one field that says how long the answer itself took.
const ANSWER_TIME: &str = "elapsed_us";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// Every crawl of every set.
fn packed() -> Vec<PathBuf> {
    let all: Vec<PathBuf> = entries(&root()).iter().flat_map(|set| entries(set)).collect();
    all.into_iter().filter(|path| path.extension().is_some_and(|end| end == "gz")).collect()
}

/// The crawl as it was written, in a directory of its own.
fn unpack(packed: &Path) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut tar = Command::new("tar");
    let status = tar.arg("-xzf").arg(packed).arg("-C").arg(dir.path()).status();
    let status = status.expect("tar and gzip unpack the fixtures: apt-get install tar gzip");
    assert!(status.success(), "{}", packed.display());
    dir
}

struct Recorded {
    args: Vec<String>,
    code: i32,
    out: String,
}

/// The questions and answers beside a packed crawl.
fn recorded(packed: &Path) -> Vec<Recorded> {
    let path = packed.with_extension("").with_extension("answers");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut all: Vec<Recorded> = Vec::new();
    for line in text.lines() {
        if let Some(args) = line.strip_prefix("$ ") {
            all.push(Recorded { args: serde_json::from_str(args).unwrap(), code: 0, out: String::new() });
            continue;
        }
        let last = all.last_mut().unwrap();
        if let Some(code) = line.strip_prefix("= ") {
            last.code = code.parse().unwrap();
        } else {
            last.out.push_str(line.strip_prefix("  ").unwrap());
            last.out.push('\n');
        }
    }
    all
}

fn ask(work: &Path, args: &[String]) -> Run {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    finish(command(&args).current_dir(work).spawn().unwrap())
}

/// Where `now` lacks something of `then`, or says it differently.
fn difference(then: &Value, now: &Value, at: &str) -> Option<String> {
    match (then, now) {
        (Value::Object(then), Value::Object(now)) => then.iter().find_map(|(key, value)| {
            if key == ANSWER_TIME {
                return None;
            }
            difference(value, now.get(key).unwrap_or(&Value::Null), &format!("{at}.{key}"))
        }),
        (Value::Array(then), Value::Array(now)) if then.len() == now.len() => {
            let mut pairs = then.iter().zip(now).enumerate();
            pairs.find_map(|(i, (then, now))| difference(then, now, &format!("{at}[{i}]")))
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            let is_near = (a - b).abs() <= TOLERANCE * a.abs().max(b.abs());
            (!is_near).then(|| format!("{at}: {a} was recorded, {b} is answered"))
        }
        _ => (then != now).then(|| format!("{at}: {then} was recorded, {now} is answered")),
    }
}

fn values(text: &str) -> Option<Vec<Value>> {
    serde_json::Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().ok()
}

fn expect_same(then: &Recorded, now: &Run, of: &str) {
    let asked = format!("{of}: lycosa {}", then.args.join(" "));
    assert_eq!(now.code, then.code, "{asked}: {}", now.err);
    match (values(&then.out), values(&now.out)) {
        (Some(then), Some(now)) => {
            let different = difference(&Value::Array(then), &Value::Array(now), "");
            assert_eq!(different, None, "{asked}");
        }
        _ => {
            let out: String = now.out.lines().map(|line| format!("{line}\n")).collect();
            assert_eq!(out, then.out, "{asked}");
        }
    }
}

#[test]
fn crawls_of_every_earlier_version_are_opened_and_answer_the_same() {
    let all = packed();
    assert!(!all.is_empty(), "no crawl in {}: cargo xtask fixtures", root().display());
    for packed in all {
        let work = unpack(&packed);
        let questions = recorded(&packed);
        assert!(questions.len() > 10, "{} has hardly any answers", packed.display());
        for then in &questions {
            expect_same(then, &ask(work.path(), &then.args), &packed.display().to_string());
        }
    }
}

#[test]
fn an_answer_that_lacks_or_changes_something_is_noticed() {
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let then = value(r#"{"a":[1,{"b":0.5}],"c":null}"#);
    let same = |now: &str| difference(&then, &value(now), "").is_none();
    assert!(same(r#"{"a":[1,{"b":0.50001,"new":1}],"c":null,"d":2}"#));
    assert!(!same(r#"{"a":[1,{"b":0.6}],"c":null}"#));
    assert!(!same(r#"{"a":[1],"c":null}"#) && !same(r#"{"a":[1,{}],"c":null}"#));
    assert!(!same(r#"{"a":[2,{"b":0.5}],"c":null}"#) && !same(r#"{"a":[1,{"b":0.5}],"c":1}"#));
}

/// The world may have changed since; what was fetched before the stop stays, and what waited is visited.
#[test]
fn a_crawl_that_an_earlier_version_stopped_goes_on() {
    let stopped = packed().into_iter().filter(|path| path.ends_with("stopped.tar.gz"));
    let mut count = 0;
    for packed in stopped {
        let site = Site::start(WorldConfig::clean(6, 6, 60));
        let work = unpack(&packed);
        let data = work.path().join("crawl").to_str().unwrap().to_owned();
        let urls = || lycosa(&["export", "-d", &data, "-f", "urls"]).expect_code(0).json_lines();
        let before = urls();
        assert!(before.iter().any(|line| line["state"] == "queued"), "nothing waits in {}", packed.display());
        let mut args = vec!["crawl", "-d", &data, "--quiet", "--max-pages", "1000"];
        let net = site.net();
        args.extend(net);
        lycosa(&args).expect_code(0);
        let after = urls();
        let of = |url: &Value| after.iter().find(|line| line["url"] == *url).expect("a URL that was known");
        for line in before {
            let now = of(&line["url"]);
            assert_eq!(now["state"], "done", "{now}");
            if line["state"] == "done" {
                assert_eq!(difference(&line, now, ""), None);
            }
        }
        count += 1;
    }
    assert!(count > 0, "no stopped crawl among the fixtures");
}
