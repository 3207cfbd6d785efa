//! Links between files, and the directory they lie in.

use std::fs;

use lycosa_mirror::links::relative;
use lycosa_mirror::{Linker, Missing, Tree, TreeError, Written, path_of};
use lycosa_rewrite::Language;
use lycosa_types::{CanonRules, CanonUrl};

fn url(raw: &str) -> CanonUrl {
    CanonUrl::parse(raw, &CanonRules::default()).unwrap()
}

/// The page `https://a.org/d/p.html`; what lies below `/d/` and the style sheet of another host are in the mirror.
fn led(missing: Missing, body: &str) -> String {
    let (page, rules) = (url("https://a.org/d/p.html"), CanonRules::default());
    let path = path_of(&page, None);
    let find = |url: &CanonUrl| {
        let here = url.as_str().starts_with("https://a.org/d/") || url.host() == "cdn.org";
        here.then(|| path_of(url, None))
    };
    let linker = Linker { url: &page, path: &path, rules: &rules, missing, find: &find };
    let mut out = Vec::new();
    linker.rewrite(Language::Html, body.as_bytes(), &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn references_lead_to_files_and_the_rest_to_the_live_page() {
    for (body, expected) in [
        ("<a href=\"q.html#x\">", "<a href=\"q.html#x\">"),
        ("<a href=\"/d/q.html\">", "<a href=\"q.html\">"),
        ("<a href=\"./\">", "<a href=\"index.html\">"),
        ("<a href=\"#top\">", "<a href=\"#top\">"),
        ("<a href=\"p.html#top\">", "<a href=\"#top\">"),
        ("<a href=\"q\">", "<a href=\"q!f\">"),
        ("<a href=\"x%20y.html\">", "<a href=\"x%2520y.html\">"),
        ("<a href=\"/other#f\">", "<a href=\"https://a.org/other#f\">"),
        ("<a href=\"mailto:a@b\">", "<a href=\"mailto:a@b\">"),
        (
            "<link rel=stylesheet href=\"//cdn.org/s.css\">",
            "<link rel=stylesheet href=\"../../cdn.org/s.css\">",
        ),
        ("<img src=\"//far.org/i.png\">", "<img src=\"../../far.org/i.png\">"),
        (
            "<base href=\"/d/e/\"><a href=\"f.html\"><a href=\"#x\">",
            "<base><a href=\"e/f.html\"><a href=\"e/index.html#x\">",
        ),
        ("<form action=\"q.html\">", "<form action=\"https://a.org/d/q.html\">"),
        ("<link rel=preconnect href=\"//far.org\">", "<link rel=preconnect>"),
        ("<link rel=prefetch href=\"//far.org/x\">", "<link rel=prefetch>"),
    ] {
        assert_eq!(led(Missing::Live, body), expected);
    }
    let page = led(Missing::Page, "<a href=\"/other\">");
    assert_eq!(page, "<a href=\"../../not-mirrored.html#https://a.org/other\">");
    assert_eq!(relative("a/b/c.html", "a/b/d/e.html"), "d/e.html");
    assert_eq!(relative("a/b/c.html", "ab/d.html"), "../../ab/d.html");
}

#[test]
fn files_are_switched_whole_and_only_when_they_differ() {
    let dir = tempfile::tempdir().unwrap();
    let mut tree = Tree::open(dir.path()).unwrap();
    assert_eq!(tree.write("a.org/d/x.html", b"one").unwrap(), Written::New);
    assert_eq!(tree.write("a.org/d/x.html", b"one").unwrap(), Written::Same);
    assert_eq!(tree.write("a.org/d/x.html", b"two").unwrap(), Written::Changed);
    // What a killed run left does no harm.
    fs::write(dir.path().join(".lycosa-mirror/fresh"), b"half").unwrap();
    assert_eq!(tree.write("a.org/y.html", b"three").unwrap(), Written::New);
    assert_eq!(fs::read(dir.path().join("a.org/y.html")).unwrap(), b"three");
    fs::write(dir.path().join("a.org/My Notes.txt"), b"mine").unwrap();
    assert_eq!(tree.remove_others(&|path| path == "a.org/y.html").unwrap(), 1);
    assert!(!dir.path().join("a.org/d").exists() && dir.path().join("a.org/My Notes.txt").exists());
}

#[test]
fn nothing_outside_is_touched() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut tree = Tree::open(dir.path()).unwrap();
    for path in ["../x", "a/../../x", "/x", "a//x", "a/./x", "", "a\\..\\x", ".lycosa-mirror/x"] {
        assert!(matches!(tree.write(path, b"x"), Err(TreeError::Outside(_))), "{path}");
    }
    std::os::unix::fs::symlink(outside.path(), dir.path().join("a.org")).unwrap();
    assert!(matches!(tree.write("a.org/x.html", b"x"), Err(TreeError::SymbolicLink(_))));
    let target = outside.path().join("target");
    fs::write(&target, b"theirs").unwrap();
    fs::create_dir(dir.path().join("b.org")).unwrap();
    std::os::unix::fs::symlink(&target, dir.path().join("b.org/x.html")).unwrap();
    assert!(matches!(tree.write("b.org/x.html", b"x"), Err(TreeError::SymbolicLink(_))));
    std::os::unix::fs::symlink(&target, dir.path().join(".lycosa-mirror/fresh")).unwrap();
    tree.write("c.org/x.html", b"x").unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"theirs");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}
