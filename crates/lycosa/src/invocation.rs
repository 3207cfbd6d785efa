//! How the program can be called again: commands that are printed are meant to be copied.

use std::path::Path;

/// The program's name if the shell finds it under that, else where it lies, seen from the working directory if it lies below.
pub fn program() -> String {
    let Ok(own) = std::env::current_exe() else { return "lycosa".to_owned() };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_own =
        |found: &Path| std::fs::canonicalize(found).is_ok_and(|found| Some(found) == own.canonicalize().ok());
    let name = own.file_name().unwrap_or_default();
    if name == "lycosa" && std::env::split_paths(&path).any(|dir| is_own(&dir.join(name))) {
        return "lycosa".to_owned();
    }
    let here = std::env::current_dir().unwrap_or_default();
    let place = own.strip_prefix(&here).map_or_else(|_| own.clone(), |below| Path::new(".").join(below));
    word(&place.to_string_lossy())
}

/// A word as a shell reads it back.
pub fn word(text: &str) -> String {
    let is_plain = |c: char| {
        c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | ':' | '=' | '%' | '@' | '+' | ',')
    };
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_from_a_shell() {
        for text in ["http://a.test/x?y=1&z=$(id)", "it's", "", "plain", "a b", "`id`;*"] {
            let script = format!("printf %s {}", word(text));
            let read = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(read.stdout).unwrap(), text);
        }
        assert_eq!(word("http://a.test/x"), "http://a.test/x");
    }
}
