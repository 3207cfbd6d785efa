//! The mutants of a source file: which bytes, and what stands there while a mutant is switched on.
//!
//! The kinds are those of cargo-mutants: bodies replaced by values, operators swapped or removed, arms of a match deleted
//! where a wildcard takes over, guards decided. Tests, constants, unsafe functions and the insides of macros are left out.

use std::collections::BTreeSet;

use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Block, Expr, ImplItemFn, ItemFn, Pat, ReturnType, Signature, UnOp};

use super::values;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    pub line: usize,
    /// The kind, for the table.
    pub kind: &'static str,
    /// What it does, for the reader.
    pub what: String,
    /// The bytes that the switch goes around; nothing but a place where it is inserted.
    pub range: std::ops::Range<usize>,
    pub edit: Edit,
}

/// How the switch is written; `SWITCH` stands for its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub before: String,
    pub after: String,
}

pub const SWITCH: &str = "\u{1}";

/// What one file says: its mutants, and the modules that it declares for tests.
#[derive(Debug, Default)]
pub struct Found {
    pub mutants: Vec<Mutant>,
    pub test_modules: Vec<String>,
}

/// Reads a file; `defaults` are the types that have a default value.
pub fn mutants(source: &str, defaults: &BTreeSet<String>) -> syn::Result<Found> {
    let file = syn::parse_file(source)?;
    let mut finder = Finder { source, defaults, found: Found::default(), function: String::new() };
    if !file.attrs.iter().any(is_test) {
        finder.visit_file(&file);
    }
    Ok(finder.found)
}

/// The types of a file that derive or implement `Default`.
pub fn defaults(source: &str) -> syn::Result<BTreeSet<String>> {
    struct Defaults(BTreeSet<String>);
    impl<'ast> Visit<'ast> for Defaults {
        fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
            if derives_default(&item.attrs) {
                self.0.insert(item.ident.to_string());
            }
        }
        fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
            if derives_default(&item.attrs) {
                self.0.insert(item.ident.to_string());
            }
        }
        fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
            let is_default = item.trait_.as_ref().is_some_and(|(_, path, _)| path.is_ident("Default"));
            if let (true, syn::Type::Path(path)) = (is_default, &*item.self_ty) {
                self.0.extend(path.path.segments.last().map(|last| last.ident.to_string()));
            }
        }
    }
    let mut found = Defaults(BTreeSet::new());
    found.visit_file(&syn::parse_file(source)?);
    Ok(found.0)
}

fn derives_default(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("derive")
            && attribute.meta.to_token_stream().to_string().contains("Default")
    })
}

fn is_test(attribute: &Attribute) -> bool {
    let text = attribute.meta.to_token_stream().to_string();
    text == "test" || text.ends_with(":: test") || (text.starts_with("cfg") && text.contains("test"))
}

struct Finder<'a> {
    source: &'a str,
    defaults: &'a BTreeSet<String>,
    found: Found,
    function: String,
}

impl Finder<'_> {
    fn text(&self, span: Span) -> &str {
        self.source.get(span.byte_range()).unwrap_or_default()
    }

    fn add(&mut self, span: Span, kind: &'static str, what: String, before: String, after: &str) {
        let what = if self.function.is_empty() { what } else { format!("{what} in {}", self.function) };
        let edit = Edit { before, after: after.to_owned() };
        let mutant = Mutant { line: span.start().line, kind, what, range: span.byte_range(), edit };
        self.found.mutants.push(mutant);
    }

    /// Either the expression, or another one in its place.
    fn replace(&mut self, span: Span, kind: &'static str, what: String, with: &str) {
        self.add(span, kind, what, format!("(if {SWITCH} {{ {with} }} else {{ "), " })");
    }

    fn function(
        &mut self,
        signature: &Signature,
        attributes: &[Attribute],
        block: &Block,
        visit: impl FnOnce(&mut Self),
    ) {
        if attributes.iter().any(is_test) || signature.constness.is_some() || signature.unsafety.is_some() {
            return;
        }
        let outer = std::mem::replace(&mut self.function, signature.ident.to_string());
        let open = block.brace_token.span.open();
        let body = self.text(block.span()).trim_matches(['{', '}']).trim().to_owned();
        for value in values::of(&signature.output, self.defaults) {
            // The body says this already, or says nothing.
            if body == value || (body.is_empty() && value == "()") {
                continue;
            }
            let what = format!("body replaced by {value}");
            let line = match signature.output {
                ReturnType::Default if value == "()" => format!(" if {SWITCH} {{ return; }} "),
                _ => format!(" if {SWITCH} {{ return {value}; }} "),
            };
            let (kind, at) = ("body", open.byte_range().end);
            let what = format!("{what} in {}", self.function);
            let edit = Edit { before: line, after: String::new() };
            self.found.mutants.push(Mutant {
                line: signature.ident.span().start().line,
                kind,
                what,
                range: at..at,
                edit,
            });
        }
        visit(self);
        self.function = outer;
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.sig, &item.attrs, &item.block, |this| visit::visit_item_fn(this, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.sig, &item.attrs, &item.block, |this| visit::visit_impl_item_fn(this, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, &item.attrs, block, |this| visit::visit_trait_item_fn(this, item));
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !item.attrs.iter().any(is_test) {
            visit::visit_item_mod(self, item);
        } else if item.content.is_none() {
            self.found.test_modules.push(item.ident.to_string());
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        // Nobody's behaviour depends on how a value looks in a debugger.
        let is_debug = item
            .trait_
            .as_ref()
            .is_some_and(|(_, path, _)| path.segments.last().is_some_and(|last| last.ident == "Debug"));
        if !is_debug && !item.attrs.iter().any(is_test) {
            visit::visit_item_impl(self, item);
        }
    }

    // Constants are computed before a switch could be read.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_generics(&mut self, _: &'ast syn::Generics) {}
    fn visit_angle_bracketed_generic_arguments(&mut self, _: &'ast syn::AngleBracketedGenericArguments) {}
    fn visit_pat(&mut self, _: &'ast Pat) {}
    fn visit_macro(&mut self, _: &'ast syn::Macro) {}
    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        visit::visit_expr_binary(self, binary);
        if has_let(&binary.left) || has_let(&binary.right) {
            return;
        }
        let (left, right) =
            (self.text(binary.left.span()).to_owned(), self.text(binary.right.span()).to_owned());
        let operator = binary.op.to_token_stream().to_string();
        for other in others(&binary.op) {
            let what = format!("{operator} replaced by {other}");
            self.replace(binary.span(), "operator", what, &format!("{left} {other} {right}"));
        }
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        visit::visit_expr_unary(self, unary);
        let sign = match unary.op {
            UnOp::Not(_) => "!",
            UnOp::Neg(_) => "-",
            _ => return,
        };
        let inner = self.text(unary.expr.span()).to_owned();
        self.replace(unary.span(), "operator", format!("{sign} removed"), &inner);
    }

    fn visit_expr_match(&mut self, matched: &'ast syn::ExprMatch) {
        visit::visit_expr_match(self, matched);
        let has_wildcard = |arm: &syn::Arm| matches!(arm.pat, Pat::Wild(_)) && arm.guard.is_none();
        let wildcard = matched.arms.iter().position(has_wildcard);
        for (index, arm) in matched.arms.iter().enumerate() {
            let pattern = self.text(arm.pat.span()).to_owned();
            let guard = arm.guard.as_ref().map(|(_, guard)| guard);
            if guard.is_some_and(|guard| has_let(guard)) {
                continue;
            }
            if wildcard.is_some_and(|wildcard| index < wildcard) {
                let what = format!("arm {pattern} deleted");
                match guard {
                    Some(guard) => self.add(guard.span(), "arm", what, format!("!{SWITCH} && ("), ")"),
                    None => self.add(arm.pat.span(), "arm", what, String::new(), &format!(" if !{SWITCH} ")),
                }
            }
            if let Some(guard) = guard {
                let span = guard.span();
                self.add(
                    span,
                    "guard",
                    format!("guard of {pattern} made true"),
                    format!("{SWITCH} || ("),
                    ")",
                );
                self.add(
                    span,
                    "guard",
                    format!("guard of {pattern} made false"),
                    format!("!{SWITCH} && ("),
                    ")",
                );
            }
        }
    }
}

/// Whether a condition binds names: it cannot stand inside of another expression then.
fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        Expr::Paren(inner) => has_let(&inner.expr),
        _ => false,
    }
}

/// The operators that are put in the place of one.
fn others(operator: &BinOp) -> &'static [&'static str] {
    match operator {
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::Lt(_) => &["==", ">", "<="],
        BinOp::Gt(_) => &["==", "<", ">="],
        BinOp::Le(_) => &[">"],
        BinOp::Ge(_) => &["<"],
        BinOp::Add(_) => &["-", "*"],
        BinOp::Sub(_) => &["+", "/"],
        BinOp::Mul(_) => &["+", "/"],
        BinOp::Div(_) => &["%", "*"],
        BinOp::Rem(_) => &["/", "+"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::BitAnd(_) => &["|", "^"],
        BinOp::BitOr(_) => &["&", "^"],
        BinOp::BitXor(_) => &["|", "&"],
        BinOp::AddAssign(_) => &["-=", "*="],
        BinOp::SubAssign(_) => &["+=", "/="],
        BinOp::MulAssign(_) => &["+=", "/="],
        BinOp::DivAssign(_) => &["%=", "*="],
        BinOp::RemAssign(_) => &["/=", "+="],
        BinOp::ShlAssign(_) => &[">>="],
        BinOp::ShrAssign(_) => &["<<="],
        BinOp::BitAndAssign(_) => &["|=", "^="],
        BinOp::BitOrAssign(_) => &["&=", "^="],
        BinOp::BitXorAssign(_) => &["|=", "&="],
        _ => &[],
    }
}
