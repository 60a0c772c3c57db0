//! The places of a file where something can be done wrong, and how the text changes there.
//!
//! Owns which mistakes are tried: operators that are taken for others, `!` that is forgotten,
//! guards that always or never hold, and functions that do nothing and answer the plainest value.
//! Code of tests is left alone, and so is what is computed when the code is compiled; functions
//! that may be called then are made ordinary ones, unless their names are to keep `const`.
//! Invariant: an edit adds no line, so that lines are those of the original.

use std::collections::BTreeSet;
use std::ops::Range;

use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{
    Attribute, BinOp, Block, Expr, GenericArgument, PathArguments, ReturnType, Signature, Type,
    UnOp,
};

/// A change of text: these bytes are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) place: Range<usize>,
    pub(crate) text: String,
    pub(crate) side: Side,
}

/// On which side of an expression an edit is; of edits at one place, this is their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    /// Behind it. That of the inner expression is first.
    Behind,
    /// Before it. That of the outer expression is first.
    Before,
    /// In its midst: something is replaced.
    Within,
}

/// A place with its mutants, whose numbers follow each other.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) line: usize,
    /// What each mutant does, for people.
    pub(crate) mistakes: Vec<String>,
    /// The text between the edits, with this instead of the number.
    pub(crate) edits: Vec<Edit>,
}

/// What stands for the number of a site's first mutant in its edits.
pub(crate) const NUMBER: &str = "\u{1}";

/// What was found in a file.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    pub(crate) sites: Vec<Site>,
    /// `const` that is taken from functions.
    pub(crate) freed: Vec<Edit>,
}

/// Finds the sites of a file.
pub(crate) fn find(text: &str, keep_const: &BTreeSet<String>) -> syn::Result<Sites> {
    let file = syn::parse_file(text)?;
    let mut finder = Finder {
        text,
        keep_const,
        found: Sites::default(),
    };
    finder.visit_file(&file);
    Ok(finder.found)
}

struct Finder<'a> {
    text: &'a str,
    keep_const: &'a BTreeSet<String>,
    found: Sites,
}

impl Finder<'_> {
    fn add(&mut self, span: Span, mistakes: Vec<String>, edits: Vec<Edit>) {
        self.found.sites.push(Site {
            line: span.start().line,
            mistakes,
            edits,
        });
    }

    /// `a OP b` becomes a call of a function of the switch.
    fn call(&mut self, binary: &syn::ExprBinary, function: &str, mistakes: &[&str], by: &str) {
        let (left, right) = (
            binary.left.span().byte_range(),
            binary.right.span().byte_range(),
        );
        let operator = operator_text(self.text, &binary.op);
        let mistakes = mistakes
            .iter()
            .map(|other| format!("`{operator}` is `{other}`"));
        let mistakes = mistakes.collect();
        let head = format!("mutant_switch::{function}({NUMBER},{by}(");
        let edits = vec![
            insert(left.start, &head, Side::Before),
            Edit {
                place: left.end..right.start,
                text: format!("),{by}("),
                side: Side::Within,
            },
            insert(right.end, "))", Side::Behind),
        ];
        self.add(binary.op.span(), mistakes, edits);
    }

    /// `a += b`, where `b` is computed first.
    fn assign(&mut self, binary: &syn::ExprBinary, function: &str, mistake: &str) {
        let (left, right) = (
            binary.left.span().byte_range(),
            binary.right.span().byte_range(),
        );
        let target = &self.text[left.clone()];
        if target.contains('\n') {
            return;
        }
        let tail = format!(");mutant_switch::{function}({NUMBER},&mut ({target}),right_side)}}");
        let edits = vec![
            Edit {
                place: left.start..right.start,
                text: "{let right_side=(".to_owned(),
                side: Side::Within,
            },
            insert(right.end, &tail, Side::Behind),
        ];
        self.add(binary.op.span(), vec![mistake.to_owned()], edits);
    }

    /// `a && b` and `a || b` are each other with everything turned round.
    fn logical(&mut self, binary: &syn::ExprBinary, mistake: &str) {
        if has_let(&binary.left) || has_let(&binary.right) {
            return;
        }
        let [before, after] = turned(binary.span());
        let sides = [&binary.left, &binary.right];
        let mut edits = vec![before];
        edits.extend(sides.into_iter().flat_map(|side| turned(side.span())));
        edits.push(after);
        self.add(binary.op.span(), vec![mistake.to_owned()], edits);
    }

    fn function(&mut self, attributes: &[Attribute], signature: &Signature, block: &Block) -> bool {
        if is_test(attributes) {
            return false;
        }
        let name = signature.ident.to_string();
        if let Some(constness) = &signature.constness {
            if self.keep_const.contains(&name) {
                return false;
            }
            let edit = Edit {
                place: constness.span.byte_range(),
                text: String::new(),
                side: Side::Within,
            };
            self.found.freed.push(edit);
        }
        let answers = plainest(&signature.output);
        if !answers.is_empty() && !block.stmts.is_empty() {
            let answer = |(nth, value): (usize, &&str)| {
                format!("if mutant_switch::on({NUMBER}+{nth}){{return {value};}}")
            };
            let text: String = answers.iter().enumerate().map(answer).collect();
            let mistakes = answers.iter().map(|value| match *value {
                "" => format!("`{name}` does nothing"),
                value => format!("`{name}` answers `{value}`"),
            });
            let place = block.brace_token.span.open().byte_range().end;
            let edits = vec![insert(place, &text, Side::Before)];
            self.add(signature.ident.span(), mistakes.collect(), edits);
        }
        true
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if !is_test(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if self.function(&item.attrs, &item.sig, &item.block) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if self.function(&item.attrs, &item.sig, &item.block) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default
            && self.function(&item.attrs, &item.sig, block)
        {
            visit::visit_trait_item_fn(self, item);
        }
    }

    // What is computed when the code is compiled.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        match &binary.op {
            BinOp::Lt(_) => self.call(binary, "less", &["<=", ">="], "&"),
            BinOp::Le(_) => self.call(binary, "at_most", &["<", ">"], "&"),
            BinOp::Gt(_) => self.call(binary, "more", &[">=", "<="], "&"),
            BinOp::Ge(_) => self.call(binary, "at_least", &[">", "<"], "&"),
            BinOp::Eq(_) => self.call(binary, "equal", &["!="], "&"),
            BinOp::Ne(_) => self.call(binary, "differs", &["=="], "&"),
            BinOp::Add(_) => self.call(binary, "sum", &["-"], ""),
            BinOp::Sub(_) => self.call(binary, "difference", &["+"], ""),
            BinOp::Mul(_) => self.call(binary, "product", &["+"], ""),
            BinOp::Div(_) => self.call(binary, "quotient", &["*"], ""),
            BinOp::Rem(_) => self.call(binary, "remainder", &["/"], ""),
            BinOp::BitAnd(_) => self.call(binary, "both", &["|"], ""),
            BinOp::BitOr(_) => self.call(binary, "either", &["&"], ""),
            BinOp::Shl(_) => self.call(binary, "left", &[">>"], ""),
            BinOp::Shr(_) => self.call(binary, "right", &["<<"], ""),
            BinOp::And(_) => self.logical(binary, "`&&` is `||`"),
            BinOp::Or(_) => self.logical(binary, "`||` is `&&`"),
            BinOp::AddAssign(_) => {
                self.assign(binary, "increase", "`+=` is `-=`");
                return self.visit_expr(&binary.right);
            }
            BinOp::SubAssign(_) => {
                self.assign(binary, "decrease", "`-=` is `+=`");
                return self.visit_expr(&binary.right);
            }
            _ => {}
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        if matches!(unary.op, UnOp::Not(_)) {
            let edits = turned(unary.span()).to_vec();
            self.add(unary.span(), vec!["`!` is left out".to_owned()], edits);
        }
        visit::visit_expr_unary(self, unary);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if let Some((_, guard)) = &arm.guard
            && !has_let(guard)
        {
            let switch = format!("((mutant_switch::on({NUMBER})||(");
            let end = format!("))&&!mutant_switch::on({NUMBER}+1))");
            let edits = around(guard.span(), &switch, &end).to_vec();
            let mistakes = ["the guard always holds", "the guard never holds"];
            self.add(guard.span(), mistakes.map(str::to_owned).to_vec(), edits);
        }
        visit::visit_arm(self, arm);
    }
}

fn insert(at: usize, text: &str, side: Side) -> Edit {
    Edit {
        place: at..at,
        text: text.to_owned(),
        side,
    }
}

/// What holds becomes what does not, in the mutant.
fn turned(span: Span) -> [Edit; 2] {
    around(span, &format!("(mutant_switch::on({NUMBER})^("), "))")
}

fn around(span: Span, before: &str, after: &str) -> [Edit; 2] {
    let place = span.byte_range();
    [
        insert(place.start, before, Side::Before),
        insert(place.end, after, Side::Behind),
    ]
}

fn operator_text<'a>(text: &'a str, operator: &BinOp) -> &'a str {
    text.get(operator.span().byte_range()).unwrap_or("?")
}

fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        Expr::Paren(paren) => has_let(&paren.expr),
        _ => false,
    }
}

/// Whether something belongs to tests.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        path.is_ident("test")
            || (path.is_ident("cfg")
                && attribute
                    .meta
                    .require_list()
                    .is_ok_and(|list| list.tokens.to_string().contains("test")))
    })
}

/// The plainest values of what a function answers, as text; none where nobody knows them.
fn plainest(output: &ReturnType) -> Vec<&'static str> {
    match output {
        ReturnType::Default => vec![""],
        ReturnType::Type(_, answer) => plainest_of(answer),
    }
}

fn plainest_of(answer: &Type) -> Vec<&'static str> {
    match answer {
        Type::Tuple(tuple) if tuple.elems.is_empty() => vec![""],
        Type::Reference(reference) => match &*reference.elem {
            Type::Path(path) if path.path.is_ident("str") => vec!["\"\""],
            _ => Vec::new(),
        },
        Type::Path(path) => path
            .path
            .segments
            .last()
            .map_or_else(Vec::new, plainest_named),
        _ => Vec::new(),
    }
}

fn plainest_named(segment: &syn::PathSegment) -> Vec<&'static str> {
    match segment.ident.to_string().as_str() {
        "bool" => vec!["true", "false"],
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64" | "i128"
        | "isize" => vec!["0", "1"],
        "f32" | "f64" => vec!["0.0", "1.0"],
        "String" => vec!["String::new()"],
        "Option" => vec!["None"],
        "Vec" => vec!["Vec::new()"],
        "Result" => first_argument(segment).map_or_else(Vec::new, |inner| {
            let wrapped = |value: &&str| match *value {
                "" => Some("Ok(())"),
                "true" => Some("Ok(true)"),
                "false" => Some("Ok(false)"),
                "0" => Some("Ok(0)"),
                "None" => Some("Ok(None)"),
                "Vec::new()" => Some("Ok(Vec::new())"),
                "String::new()" => Some("Ok(String::new())"),
                _ => None,
            };
            plainest_of(inner).iter().filter_map(wrapped).collect()
        }),
        _ => Vec::new(),
    }
}

fn first_argument(segment: &syn::PathSegment) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(inner) => Some(inner),
        _ => None,
    })
}
