//! Nasty documents with exact expected output, and laws that hold for all documents.

mod css;
mod html;
mod laws;
mod roles;
mod urls;
mod xml;

use lycosa_rewrite::{Language, Reference, Role, Verdict, rewrite};

/// Puts `R/` before every reference, once; bases, policies and hints go.
pub fn decide(reference: &Reference<'_>) -> Verdict {
    let value = String::from_utf8_lossy(reference.value);
    match reference.role {
        Role::Base | Role::Policy | Role::Hint => Verdict::Remove,
        _ if value.starts_with("R/") => Verdict::Keep,
        _ => Verdict::Replace(format!("R/{value}")),
    }
}

pub fn rewritten(language: Language, input: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    rewrite(language, input, &mut out, &mut decide);
    out
}

/// Each input with its expected output; an empty output means that nothing changes. Rewriting again changes nothing.
pub fn check(language: Language, cases: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (input, expected) in cases {
        let expected = if expected.is_empty() { input } else { expected };
        let out = rewritten(language, input.as_bytes());
        if out != expected.as_bytes() {
            wrong.push(format!("{input}\n  -> {}\n  != {expected}", String::from_utf8_lossy(&out)));
        }
        let again = rewritten(language, &out);
        if again != out {
            wrong.push(format!("again: {input}\n -> {}", String::from_utf8_lossy(&again)));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
