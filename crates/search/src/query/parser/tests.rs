//! Golden queries and laws of the parser.

use proptest::prelude::*;

use super::super::ast::TextField;
use super::*;

fn shown(query: &str) -> String {
    match parse(query) {
        Ok(node) => node.to_string(),
        Err(error) => format!("{}: {:?}", error.character, error.problem),
    }
}

#[test]
fn operators_bind_as_documented() {
    let word = |text: &str| Node::Word(text.to_owned());
    assert_eq!(
        parse("a b AND NOT c OR d"),
        Ok(Node::List(vec![
            word("a"),
            Node::Or(vec![Node::And(vec![word("b"), Node::Not(Box::new(word("c")))]), word("d")])
        ]))
    );
    assert_eq!(shown("(a OR b) AND c"), "(a OR b) AND c");
    assert_eq!(shown("a XOR b XOR c"), "a XOR b XOR c");
    assert_eq!(shown("-a"), "NOT a");
    assert_eq!(shown("a NEAR b NEAR/3 \"c d\""), "a NEAR/10 b AND b NEAR/3 \"c d\"");
    assert_eq!(shown("((a))"), "a");
    assert_eq!(shown("title:(a OR b*) text:\"x y\""), "title:(a OR b*) text:\"x y\"");
    assert_eq!(shown("Site:https://Example.org:80/x before:2024-05"), "site:example.org before:2024-05");
    assert_eq!(parse("title:a"), Ok(Node::Field(TextField::Title, Box::new(word("a")))));
}

/// As trees: a word `XOR` would look the same in print.
#[test]
fn each_operator_is_one_and_not_a_word() {
    let word = |text: &str| Node::Word(text.to_owned());
    let pair = || vec![word("a"), word("b")];
    assert_eq!(parse("a XOR b"), Ok(Node::Xor(pair())));
    assert_eq!(parse("a OR b"), Ok(Node::Or(pair())));
    assert_eq!(parse("a AND b"), Ok(Node::And(pair())));
    assert_eq!(parse("a b"), Ok(Node::List(pair())));
    assert_eq!(parse("NOT a"), Ok(Node::Not(Box::new(word("a")))));
    let near = |distance| Node::Near { distance, left: Box::new(word("a")), right: Box::new(word("b")) };
    assert_eq!(parse("a NEAR b"), Ok(near(10)));
    assert_eq!(parse("a NEAR/1 b"), Ok(near(1)));
    for (query, problem) in [("XOR a", "1: NothingLeft(\"XOR\")"), ("a XOR", "3: NothingRight(\"XOR\")")] {
        assert_eq!(shown(query), problem);
    }
    // In lower case they are words.
    assert_eq!(parse("xor"), Ok(word("xor")));
}

#[test]
fn what_means_nothing_is_skipped() {
    assert_eq!(shown("a ++ * \"!\" - b"), "a b");
    assert_eq!(shown("e-mail http://x/"), "e-mail http://x/");
}

#[test]
fn errors_name_the_place() {
    for (query, expected) in [
        ("", "1: Empty"),
        ("()", "1: Empty"),
        ("é (a", "3: OpenParenthesis"),
        ("a)", "2: StrayParenthesis"),
        ("a \"b", "3: OpenQuote"),
        ("a AND", "3: NothingRight(\"AND\")"),
        ("a AND OR b", "3: NothingRight(\"AND\")"),
        ("OR a", "1: NothingLeft(\"OR\")"),
        ("a NEAR/0 b", "3: BadDistance"),
        ("a NEAR (b AND c)", "8: NearOperand"),
        ("title:a NEAR b", "1: NearOperand"),
        ("site: ", "1: NoValue(\"site:\", \"example.org\")"),
        ("before:yesterday", "8: BadDate(\"yesterday\")"),
        ("title:", "1: NoValue(\"title:\", \"word\")"),
    ] {
        assert_eq!(shown(query), expected, "{query}");
    }
    assert!(matches!(parse(&"(".repeat(1000)), Err(QueryError { problem: QueryProblem::TooDeep, .. })));
    assert!(matches!(parse(&"a ".repeat(1000)), Err(QueryError { problem: QueryProblem::TooManyWords, .. })));
    assert!(matches!(parse(&"a".repeat(5000)), Err(QueryError { problem: QueryProblem::TooLong, .. })));
    let error = parse("a \"b").unwrap_err();
    assert_eq!(error.pointed("a \"b"), "a \"b\n  ^");
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{1,2}",
        "[a-cé日本*:/-]{1,4}",
        "\\PC{0,3}",
        Just("AND".to_owned()),
        Just("OR".to_owned()),
        Just("XOR".to_owned()),
        Just("NOT".to_owned()),
        Just("NEAR".to_owned()),
        Just("NEAR/3".to_owned()),
        Just("(".to_owned()),
        Just(")".to_owned()),
        Just("\"".to_owned()),
        Just("\"a b\"".to_owned()),
        Just("title:".to_owned()),
        Just("site:x.org".to_owned()),
        Just("lang:en".to_owned()),
        Just("before:2024-02-03".to_owned()),
        Just("-".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_parses_or_is_refused_at_a_place_in_it(pieces in prop::collection::vec((piece(), "[ ]?"), 0..12)) {
        let query: String = pieces.into_iter().flat_map(|(piece, gap)| [piece, gap]).collect();
        match parse(&query) {
            Ok(node) => {
                let text = node.to_string();
                prop_assert_eq!(parse(&text), Ok(node), "{}", text);
            }
            Err(error) => {
                prop_assert!(error.at <= query.len() && query.is_char_boundary(error.at));
                prop_assert!(error.character <= query.chars().count() + 1);
            }
        }
    }
}
