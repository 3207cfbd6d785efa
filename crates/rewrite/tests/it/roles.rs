//! What references are for, and what they are relative to.

use lycosa_rewrite::{Language, Role, list};

fn roles(language: Language, input: &str) -> Vec<(Role, String)> {
    let mut found = Vec::new();
    list(language, input.as_bytes(), &mut |reference| {
        found.push((reference.role, String::from_utf8_lossy(reference.value).into_owned()));
    });
    found
}

#[test]
fn links_are_told_from_requisites() {
    for (input, role) in [
        ("<a href=x>", Role::Page),
        ("<link rel=stylesheet href=x>", Role::Style),
        ("<link rel='alternate stylesheet' href=x>", Role::Style),
        ("<link rel='shortcut icon' href=x>", Role::Image),
        ("<link rel=apple-touch-icon href=x>", Role::Image),
        ("<link rel=preload as=font href=x>", Role::Font),
        ("<link rel=preload as=style href=x>", Role::Style),
        ("<link rel=preload as=fetch href=x>", Role::Data),
        ("<link rel=modulepreload href=x>", Role::Script),
        ("<link rel=manifest href=x>", Role::Manifest),
        ("<link rel=canonical href=x>", Role::Page),
        ("<link rel=next href=x>", Role::Page),
        ("<link rel=preconnect href=x>", Role::Hint),
        ("<link rel=pingback href=x>", Role::Other),
        ("<iframe src=x>", Role::Frame),
        ("<video src=x>", Role::Media),
        ("<object data=x>", Role::Object),
        ("<form action=x>", Role::Form),
        ("<meta property=og:image content=x>", Role::Preview),
        ("<style>@font-face{src:url(x)}</style>", Role::Font),
        ("<style>@import 'x'</style>", Role::Style),
        ("<style>a{b:url(x)}</style>", Role::Image),
        ("<style>@font-face{}a{b:url(x)}</style>", Role::Image),
    ] {
        assert_eq!(roles(Language::Html, input), [(role, "x".to_owned())], "{input}");
    }
}

#[test]
fn the_first_base_counts_for_what_follows_and_for_documents_inside() {
    let mut found = Vec::new();
    let input = "<a href=0><base target=x><base href=' b/ '><a href=1><base href=c><a href=2>\
        <iframe srcdoc='<a href=3><base href=d><a href=4>'></iframe><a href=5>";
    list(Language::Html, input.as_bytes(), &mut |reference| {
        if reference.role == Role::Page {
            found.push(reference.base.map(|base| String::from_utf8_lossy(base).into_owned()));
        }
    });
    let some = |base: &str| Some(base.to_owned());
    assert_eq!(found, [None, some("b/"), some("b/"), some("b/"), some("d"), some("b/")]);
}
