//! Any bytes as an image: an outcome, whatever they are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lycosa_page::PictureMark;

fuzz_target!(|body: &[u8]| {
    let (mark, error) = PictureMark::of("/image", body);
    assert_eq!(mark.look.is_none(), error.is_some());
});
