//! `lycosa compare`, and what `inspect` and `export` tell of a page's judgement and main content.

use std::path::Path;

use lycosa_simweb::WorldConfig;
use serde_json::{Value, json};

use crate::binary::{lycosa, lycosa_reading};
use crate::site::Site;

const PAGE: &str = r#"<!doctype html><html lang="en"><head><title>Wolf spiders</title>
<meta name="author" content="Ada Web"><meta property="article:published_time" content="2024-05-06T07:08:09Z"></head>
<body><nav><a href="/">Home</a></nav><article><h1>Lycosa</h1>
<p>Wolf spiders hunt at night across open ground, and they carry their young upon their backs until the young can
fend for themselves in the grass.</p><p>They build no webs at all, not even small ones, and rely upon their excellent
<a href="/eyes">eyesight</a> to find and follow prey over long distances.</p></article><p>Views: 1204</p></body></html>"#;

/// The page with one thing changed.
fn changed(from: &str, to: &str) -> String {
    assert!(PAGE.contains(from), "{from}");
    PAGE.replace(from, to)
}

fn write(dir: &Path, name: &str, body: impl AsRef<[u8]>) -> String {
    let path = dir.join(name);
    std::fs::write(&path, body).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A square of grey, 24 bits a pixel, lighter from left to right or from right to left.
fn bitmap(mirrored: bool, note: u8) -> Vec<u8> {
    let side: u32 = 32;
    let mut file = b"BM\0\0\0\0".to_vec();
    // Readers pass over the reserved word, so it changes the bytes and not the picture.
    file.extend([note, 0, 0, 0]);
    for field in [54, 40, side, side, 1 | 24 << 16, 0, 0, 0, 0, 0, 0] {
        file.extend(u32::to_le_bytes(field));
    }
    for _ in 0..side {
        for x in 0..side {
            let x = if mirrored { side - 1 - x } else { x };
            file.extend([(x * 8) as u8; 3]);
        }
    }
    file
}

#[test]
fn a_change_of_text_is_named_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let old = write(dir.path(), "old.html", PAGE);
    let new = write(dir.path(), "new.html", changed("no webs at all, not even small ones", "small webs"));
    let report = lycosa(&["compare", &old, &new, "--json"]).expect_code(0).json();
    assert_eq!((&report["verdict"], &report["signal"]), (&"text".into(), &"text-one".into()));
    assert_eq!((&report["kind"], &report["text_changed"]), (&"page".into(), &true.into()));
    assert_eq!(report["old_lines"][0]["number"], 4);
    let text = |side: &str| report[side][0]["text"].as_str().unwrap().to_owned();
    assert!(text("old_lines").starts_with("They build no webs at all, not"), "{report}");
    assert!(text("new_lines").starts_with("They build small webs, and rely"), "{report}");
    assert!(report["first_tag"].is_null() && report["levels"] == json!([]));
    let score = |name: &str| report[name].as_f64().unwrap();
    for name in ["share", "resemblance", "keyword_similarity"] {
        assert!(score(name) > 0.1 && score(name) < 1.0, "{report}");
    }
    // Of a page this short, one side may have no minutia of its own.
    for name in ["old_in_new", "new_in_old"] {
        assert!(score(name) > 0.1 && score(name) <= 1.0, "{report}");
    }
    let short = lycosa(&["compare", &old, &new]).expect_code(0).out;
    for part in
        ["verdict        text\n", "signal         text-one\n", "\n-     4  They build no", "\n+     4  They"]
    {
        assert!(short.contains(part), "{part} is missing in\n{short}");
    }
    // The other side of standard input, and what has no change.
    let same = lycosa_reading(&["compare", &old, "-", "--json"], PAGE.as_bytes()).expect_code(0).json();
    assert_eq!((&same["verdict"], &same["signal"]), (&"unchanged".into(), &"nothing".into()));
    assert_eq!((&same["resemblance"], &same["extent"]), (&1.0.into(), &"none".into()));
}

#[test]
fn a_change_of_structure_is_named_with_its_tag_and_nodes() {
    let dir = tempfile::tempdir().unwrap();
    let old = write(dir.path(), "old.html", PAGE);
    let new = write(dir.path(), "new.html", changed("</article>", "<ul><li>New</li></ul></article>"));
    let report = lycosa(&["compare", &old, &new, "--json"]).expect_code(0).json();
    assert_eq!((&report["verdict"], &report["signal"]), (&"structure".into(), &"tag-strings".into()));
    assert_eq!(report["first_tag"], json!({ "number": 14, "old": "p", "new": "ul" }));
    assert_eq!(report["nodes"]["added"], json!([{ "id": 14, "level": 4, "tag": "ul" }]));
    assert_eq!(report["nodes"]["removed"], json!([]));
    assert!(report["levels"].as_array().unwrap().contains(&5.into()), "{report}");
    assert_eq!(report["new_lines"], json!([{ "number": 5, "text": "New" }]));
}

#[test]
fn pairs_are_judged_by_what_their_host_does() {
    let dir = tempfile::tempdir().unwrap();
    let mut list = String::new();
    let mut pair = |old: &str, new: &str, host: Option<&str>| {
        let line = match host {
            Some(host) => json!({ "old": old, "new": new, "host": host }),
            None => json!({ "old": old, "new": new }),
        };
        list.push_str(&format!("{line}\n"));
    };
    // A banner that the words themselves do not give away, replaced alike on every page of a host.
    for page in 0..6 {
        let topic = ["anatomy", "burrows", "courtship", "diet", "enemies", "fossils"][page];
        let body =
            |banner: &str| changed("<nav>", &format!("<nav><p>{banner}</p>")).replace("eyesight", topic);
        let old = write(dir.path(), &format!("old{page}.html"), body("Spring sale in our shop"));
        let new = write(dir.path(), &format!("new{page}.html"), body("Autumn meeting in Leeds"));
        pair(&old, &new, Some("spiders.test"));
    }
    let (old, new) = (dir.path().join("old0.html"), dir.path().join("new0.html"));
    pair(old.to_str().unwrap(), new.to_str().unwrap(), None);
    pair(old.to_str().unwrap(), "no/such/file.html", Some("spiders.test"));
    list.push_str("nonsense\n");
    let counted = write(dir.path(), "counted.html", changed("Views: 1204", "Views: 1311"));
    let plain = write(dir.path(), "plain.html", PAGE);
    list.push_str(&format!("{}\n", json!({ "old": plain, "new": counted })));
    let answers = lycosa_reading(&["compare", "--pairs", "-"], list.as_bytes()).expect_code(0).json_lines();
    let verdicts: Vec<&str> =
        answers.iter().map(|answer| answer["verdict"].as_str().unwrap_or("error")).collect();
    let noise = ["noise"; 6];
    assert_eq!((&verdicts[..6], &verdicts[6..]), (&noise[..], &["text", "error", "error", "noise"][..]));
    assert_eq!((&answers[0]["host"], &answers[0]["signal"]), (&"spiders.test".into(), &"bytes".into()));
    assert!(answers[0]["share"] == 1.0 && answers[6]["share"].as_f64() < Some(1.0));
    for score in ["resemblance", "old_in_new", "new_in_old", "keyword_similarity"] {
        assert!(answers[6][score].is_f64(), "{}", answers[6]);
    }
    assert!(answers[7]["error"].as_str().unwrap().contains("no/such/file.html"));
    assert_eq!((&answers[8]["line"], &answers[8]["old"]), (&9.into(), &Value::Null));
    // Another hash chooses other minutiae and comes to the same verdicts.
    let file = write(dir.path(), "pairs.jsonl", &list);
    let args = ["compare", "--pairs", &file, "--hash", "md5", "--k", "10", "--w", "5"];
    let again = lycosa(&args).expect_code(0).json_lines();
    assert_eq!(again.len(), answers.len());
    assert!(again.iter().zip(&answers).all(|(a, b)| a["verdict"] == b["verdict"]));
    assert_ne!(again[6]["resemblance"], answers[6]["resemblance"]);
}

#[test]
fn images_are_compared_by_what_they_show() {
    let dir = tempfile::tempdir().unwrap();
    let old = write(dir.path(), "old.bmp", bitmap(false, 0));
    for (name, body, verdict, distant) in [
        ("same.bmp", bitmap(false, 0), "unchanged", false),
        ("bytes.bmp", bitmap(false, 7), "noise", false),
        ("mirrored.bmp", bitmap(true, 0), "image", true),
    ] {
        let new = write(dir.path(), name, body);
        let report = lycosa(&["compare", &old, &new, "--json"]).expect_code(0).json();
        assert_eq!((&report["kind"], &report["verdict"]), (&"image".into(), &verdict.into()), "{report}");
        assert_eq!(report["hash_distance"].as_u64() > Some(0), distant, "{report}");
        assert_eq!(report["new_picture"]["width"], 32);
        let pair = json!({ "old": old, "new": new }).to_string();
        let answer = lycosa_reading(&["compare", "--pairs", "-"], pair.as_bytes()).expect_code(0).json();
        assert_eq!((&answer["verdict"], &answer["share"]), (&verdict.into(), &Value::Null));
    }
    let picture = lycosa(&["inspect", &old, "--json"]).expect_code(0).json();
    assert_eq!(picture["picture"]["ival"].as_array().unwrap().len(), 3);
    // An image in place of a page is a change of the page.
    let page = write(dir.path(), "page.html", PAGE);
    let report = lycosa(&["compare", &page, &old, "--json"]).expect_code(0).json();
    assert_eq!((&report["kind"], &report["verdict"]), (&"page".into(), &"structure".into()));
}

#[test]
fn any_two_files_can_be_compared() {
    let dir = tempfile::tempdir().unwrap();
    let bodies: [&[u8]; 6] = [b"", b"\x00\x01\x02", b"<", b"\xff\xfe<\x00", &[b'<'; 5000], b"%PDF-1.4"];
    let files: Vec<String> =
        bodies.iter().enumerate().map(|(at, body)| write(dir.path(), &at.to_string(), body)).collect();
    let mut list = String::new();
    for old in &files {
        for new in &files {
            list.push_str(&format!("{}\n", json!({ "old": old, "new": new, "host": "h" })));
        }
    }
    let answers = lycosa_reading(&["compare", "--pairs", "-"], list.as_bytes()).expect_code(0).json_lines();
    assert_eq!(answers.len(), 36);
    for answer in answers {
        assert_eq!(answer["verdict"] == "unchanged", answer["old"] == answer["new"], "{answer}");
    }
}

#[test]
fn wrong_usage_is_told() {
    for args in [
        &["compare"][..],
        &["compare", "a.html"],
        &["compare", "a.html", "b.html", "--pairs", "-"],
        &["compare", "a.html", "b.html", "--k", "0"],
        &["compare", "a.html", "b.html", "--w", "5000"],
        &["compare", "a.html", "b.html", "--hash", "sha1"],
        &["inspect", "-", "--markdown", "--json"],
    ] {
        lycosa(args).expect_code(2);
    }
    lycosa(&["compare", "-", "-"]).expect_code(2);
    assert!(lycosa(&["compare", "no-such.html", "-"]).expect_code(1).err.contains("no-such.html"));
    let help = lycosa(&["compare", "--help"]).expect_code(0).out;
    assert!(help.contains("Examples:\n  lycosa compare") && help.contains("--json"), "{help}");
}

#[test]
fn inspect_shows_signatures_prints_and_main_content() {
    let page = lycosa_reading(&["inspect", "-", "--json"], PAGE.as_bytes()).expect_code(0).json();
    let signatures = &page["signatures"];
    assert_eq!(
        signatures["structure_one"],
        json!({ "tags": 14, "first": "hhtmmbnaahppap", "last": "ldeaayvae1ppap" })
    );
    assert_eq!(signatures["structure_two"]["level_sizes"], json!([1, 2, 6, 4, 1]));
    // Text I is the sum of the codes over the number of distinct ones.
    let text: Vec<u32> = page["text"].as_str().unwrap().chars().map(u32::from).collect();
    let distinct: std::collections::BTreeSet<u32> = text.iter().copied().collect();
    let text_one = f64::from(text.iter().sum::<u32>()) / distinct.len() as f64;
    assert_eq!(signatures["text_one"].as_f64(), Some(text_one));
    assert_eq!(signatures["digests"]["main"].as_str().unwrap().len(), 16);
    let prints = &page["prints"];
    assert_eq!((&prints["k"], &prints["w"], &prints["hash"]), (&25.into(), &60.into(), &"fast".into()));
    let (count, shown) = (prints["count"].as_u64().unwrap(), prints["smallest"].as_array().unwrap());
    assert!(count >= shown.len() as u64 && !shown.is_empty());
    let main = &page["main"];
    assert_eq!((&main["author"], &main["language"]), (&"Ada Web".into(), &"en".into()));
    assert!(main["published"].as_str().unwrap().starts_with("2024-05-06"), "{main}");
    let text = main["text"].as_str().unwrap();
    assert!(text.contains("Wolf spiders hunt") && !text.contains("Home"), "{text}");
    let markdown = lycosa_reading(&["inspect", "-", "--markdown"], PAGE.as_bytes()).expect_code(0).out;
    assert!(markdown.contains("[eyesight](/eyes)") && !markdown.contains("Home"), "{markdown}");
    let short = lycosa_reading(&["inspect", "-"], PAGE.as_bytes()).expect_code(0).out;
    for part in ["hhtmmbnaahppap", "structure II", "1 2 6 4 1", "minutiae (K 25, W 60, fast)", "main content"]
    {
        assert!(short.contains(part), "{part} is missing in\n{short}");
    }
}

#[test]
fn main_content_is_exported() {
    let site = Site::start(WorldConfig::clean(3, 2, 30));
    let data = site.data();
    site.crawl(&["--delay", "0", "--quiet"]).expect_code(0);
    let lines = lycosa(&["export", "-d", &data, "-f", "jsonl"]).expect_code(0).json_lines();
    let pages: Vec<&Value> = lines.iter().filter(|line| line["kind"] == "html").collect();
    assert!(pages.iter().any(|page| {
        let (main, text) = (page["main_text"].as_str().unwrap(), page["text"].as_str().unwrap());
        !main.is_empty() && main.len() < text.len()
    }));
    for name in ["author", "published", "modified"] {
        assert!(pages.iter().all(|page| page.as_object().unwrap().contains_key(name)), "{name}");
    }
    let all = lycosa(&["export", "-d", &data, "-f", "markdown"]).expect_code(0).out;
    assert!(all.starts_with("---\nurl: \"http://"), "{all}");
    let dir = site.dir.path().join("pages");
    let told = lycosa(&["export", "-d", &data, "-f", "markdown", "-o", dir.to_str().unwrap(), "--json"])
        .expect_code(0);
    assert_eq!(told.json()["pages"], pages.len());
    let mut files = 0;
    for entry in std::fs::read_dir(&dir).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        assert!(name.ends_with(".md") && !name.starts_with('.') && name.chars().all(is_safe), "{name}");
        let text = std::fs::read_to_string(entry.path()).unwrap();
        assert!(all.contains(&text), "{name} is not in the whole");
        files += 1;
    }
    assert_eq!(files, pages.len());
}
