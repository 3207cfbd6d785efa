//! Any bytes as a message between nodes: read or refused, and what was read can be merged and shown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lycosa_search::federation::{ShardRequest, ShardResponse, merge};
use lycosa_search::{Request, parse};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(request) = ShardRequest::from_bytes(bytes) {
        assert_eq!(request.to_bytes().as_deref().map(ShardRequest::from_bytes), Ok(Ok(request)));
    }
    if let Ok(ShardResponse::Results(results)) = ShardResponse::from_bytes(bytes) {
        let Ok(node) = parse("web") else { return };
        let answer = merge(&Request::new("web"), &node, vec![results.clone(), results]);
        for found in &answer.results {
            let bare = found.snippet_html.replace("<mark>", "").replace("</mark>", "");
            assert!(!bare.contains(['<', '>', '"', '\'']));
        }
        assert!(answer.html().ends_with("</ol>\n"));
    }
});
