//! Values that stand in for what a function returns, as Rust source.

use std::collections::BTreeSet;

use quote::ToTokens;
use syn::{GenericArgument, PathArguments, PathSegment, ReturnType, Type};

/// Types whose values are alike for every wrapper, at most.
const MAX_VALUES: usize = 6;

/// Values for a function's body, as plausible as they are wrong. `defaults` names the types that have a default.
pub fn of(output: &ReturnType, defaults: &BTreeSet<String>) -> Vec<String> {
    match output {
        ReturnType::Default => vec!["()".to_owned()],
        ReturnType::Type(_, kind) => of_type(kind, defaults),
    }
}

fn of_type(kind: &Type, defaults: &BTreeSet<String>) -> Vec<String> {
    let mut values = match kind {
        Type::Path(path) if path.qself.is_none() => match path.path.segments.last() {
            Some(last) => of_path(last, defaults),
            None => Vec::new(),
        },
        Type::Reference(reference) => of_reference(reference, defaults),
        Type::Tuple(tuple) => of_tuple(&tuple.elems.iter().collect::<Vec<_>>(), defaults),
        Type::Array(array) => {
            let length = array.len.to_token_stream().to_string();
            of_type(&array.elem, defaults).into_iter().map(|value| format!("[{value}; {length}]")).collect()
        }
        Type::Paren(inner) => of_type(&inner.elem, defaults),
        _ => Vec::new(),
    };
    values.truncate(MAX_VALUES);
    values
}

fn of_path(last: &PathSegment, defaults: &BTreeSet<String>) -> Vec<String> {
    let name = last.ident.to_string();
    let arguments: Vec<&Type> = match &last.arguments {
        PathArguments::AngleBracketed(list) => {
            let types = list.args.iter().filter_map(|argument| match argument {
                GenericArgument::Type(kind) => Some(kind),
                _ => None,
            });
            types.collect()
        }
        _ => Vec::new(),
    };
    let wrapped = |around: &str| -> Vec<String> {
        let inner = arguments.first().map(|kind| of_type(kind, defaults)).unwrap_or_default();
        inner.into_iter().map(|value| format!("{around}({value})")).collect()
    };
    let texts = |values: &[&str]| values.iter().map(|&value| value.to_owned()).collect::<Vec<_>>();
    match name.as_str() {
        "bool" => texts(&["true", "false"]),
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => texts(&["0", "1"]),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => texts(&["0", "1", "-1"]),
        "f32" | "f64" => texts(&["0.0", "1.0", "-1.0"]),
        "char" => texts(&["'x'"]),
        "String" => texts(&["String::new()", "String::from(\"xyzzy\")"]),
        "Option" => [texts(&["None"]), wrapped("Some")].concat(),
        "Result" => wrapped("Ok"),
        "Box" => wrapped("Box::new"),
        "Arc" => wrapped("std::sync::Arc::new"),
        "Vec" => [texts(&["Vec::new()"]), wrapped_in_vec(&arguments, defaults)].concat(),
        "HashMap" | "HashSet" | "BTreeMap" | "BTreeSet" | "VecDeque" | "Duration" | "Bytes" | "BytesMut" => {
            texts(&["Default::default()"])
        }
        "Cow" => texts(&["Default::default()"]),
        _ if defaults.contains(&name) => texts(&["Default::default()"]),
        _ => Vec::new(),
    }
}

fn wrapped_in_vec(arguments: &[&Type], defaults: &BTreeSet<String>) -> Vec<String> {
    let inner = arguments.first().map(|kind| of_type(kind, defaults)).unwrap_or_default();
    inner.into_iter().take(2).map(|value| format!("vec![{value}]")).collect()
}

fn of_reference(reference: &syn::TypeReference, defaults: &BTreeSet<String>) -> Vec<String> {
    let is_mutable = reference.mutability.is_some();
    match &*reference.elem {
        Type::Path(path) if path.path.is_ident("str") && !is_mutable => {
            vec!["\"\"".to_owned(), "\"xyzzy\"".to_owned()]
        }
        Type::Slice(slice) => {
            let mut values = vec![if is_mutable { "&mut []" } else { "&[]" }.to_owned()];
            let is_byte = matches!(&*slice.elem, Type::Path(path) if path.path.is_ident("u8"));
            values.extend((is_byte && !is_mutable).then(|| "&[1]".to_owned()));
            values
        }
        Type::Path(path) if !is_mutable => {
            let simple = ["bool", "u8", "u16", "u32", "u64", "usize", "i32", "i64"];
            let is_simple = simple.iter().any(|name| path.path.is_ident(name));
            let values = if is_simple { of_type(&reference.elem, defaults) } else { Vec::new() };
            values.into_iter().map(|value| format!("&{value}")).collect()
        }
        _ => Vec::new(),
    }
}

/// Tuples vary one place at a time, so that their number does not multiply.
fn of_tuple(elements: &[&Type], defaults: &BTreeSet<String>) -> Vec<String> {
    if elements.is_empty() {
        return vec!["()".to_owned()];
    }
    let choices: Vec<Vec<String>> = elements.iter().map(|kind| of_type(kind, defaults)).collect();
    let most = choices.iter().map(Vec::len).max().unwrap_or(0);
    if choices.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    let pick = |turn: usize| -> String {
        let values: Vec<&str> =
            choices.iter().map(|values| values[turn.min(values.len() - 1)].as_str()).collect();
        let comma = if values.len() == 1 { "," } else { "" };
        format!("({}{comma})", values.join(", "))
    };
    (0..most).map(pick).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(output: &str) -> Vec<String> {
        let function: syn::ItemFn = syn::parse_str(&format!("fn f() {output} {{ loop {{}} }}")).unwrap();
        of(&function.sig.output, &BTreeSet::from(["Totals".to_owned()]))
    }

    #[test]
    fn each_type_has_values_of_its_own() {
        assert_eq!(values(""), ["()"]);
        assert_eq!(values("-> bool"), ["true", "false"]);
        assert_eq!(values("-> &str"), ["\"\"", "\"xyzzy\""]);
        assert_eq!(values("-> Option<u8>"), ["None", "Some(0)", "Some(1)"]);
        assert_eq!(values("-> Result<Vec<u8>, Error>"), ["Ok(Vec::new())", "Ok(vec![0])", "Ok(vec![1])"]);
        assert_eq!(values("-> io::Result<()>"), ["Ok(())"]);
        assert_eq!(
            values("-> (bool, Totals)"),
            ["(true, Default::default())", "(false, Default::default())"]
        );
        assert_eq!(values("-> [u8; N]"), ["[0; N]", "[1; N]"]);
        assert!(values("-> Unknown").is_empty() && values("-> impl Iterator<Item = u8>").is_empty());
        assert!(values("-> !").is_empty() && values("-> &Unknown").is_empty());
    }
}
