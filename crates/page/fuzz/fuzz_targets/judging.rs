//! Any two texts as visits to one page: signed, compared, read and stored without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lycosa_page::{ContentReader, Extract, HostTemplate, Judger, Keywords, Limits, Scanner, Signatures, Verdict, compare};

fuzz_target!(|pair: (&str, &str)| {
    let mut scanner = Scanner::new(Limits::default());
    let mut judger = Judger::default();
    let mut reader = ContentReader::default();
    let mut page = Extract::new();
    let mut visit = |source: &str| -> Signatures {
        scanner.scan(source, &mut page);
        let content = reader.read(source, &page, None);
        reader.markdown(source, &page);
        Keywords::of(&content.text, content.language.as_deref());
        judger.sign(source, &page, Some(&content.text))
    };
    let (old, new) = (visit(pair.0), visit(pair.1));
    let mut template = HostTemplate::default();
    template.learn(&old, &new);
    let report = compare(&old, &new, Some(&template));
    assert_eq!(report.verdict == Verdict::Unchanged, pair.0 == pair.1);
});
