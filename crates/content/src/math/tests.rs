use url::Url;

use super::*;
use crate::{Content, ContentLimits};

fn read(html: &str) -> Content {
    let url = Url::parse("https://example.com/").unwrap();
    Content::from_html(html, &url, &ContentLimits::default()).unwrap()
}

/// Each formula is in the Markdown, in the main text and in the text of the whole page.
fn check(cases: &[(&str, &str)]) {
    for (html, expected) in cases {
        let content = read(&format!("<p>{html}</p>"));
        let main = content.main.unwrap();
        assert_eq!(main.markdown.trim_end(), *expected, "Markdown of {html}");
        assert_eq!(main.text, *expected, "text of {html}");
        assert_eq!(content.text, *expected, "text of the page {html}");
    }
}

const KATEX: &str = r#"as <span class="katex"><span class="katex-mathml"><math
    xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mrow><msup><mi>a</mi><mn>2</mn></msup></mrow>
    <annotation encoding="application/x-tex">a^2 &lt; \alpha_*b*</annotation></semantics></math></span><span
    class="katex-html" aria-hidden="true"><span class="base"><span>a</span><span>2</span></span></span></span>, so"#;

const WIKIPEDIA: &str = r#"is <span class="mwe-math-element"><span
    class="mwe-math-mathml-inline mwe-math-mathml-a11y" style="display: none;"><math
    alttext="{\displaystyle E=mc^{2}}"><semantics><mi>E</mi></semantics></math></span><img src="x.svg"
    class="mwe-math-fallback-image-inline" aria-hidden="true" alt="{\displaystyle E=mc^{2}}"></span>."#;

const MATHJAX_2: &str = r#"is <span class="MathJax_Preview">a2</span><span class="MathJax"><span>a</span></span><script
    type="math/tex">a^2_{|x|}</script> here"#;

#[test]
fn formulas_are_tex_between_signs() {
    check(&[
        (KATEX, "as $a^2 < \\alpha_*b*$, so"),
        (WIKIPEDIA, "is $E=mc^{2}$."),
        (MATHJAX_2, "is $a^2_{|x|}$ here"),
        (
            "so<script type='math/tex; mode=display'>a % note\n= b</script>it",
            "so\n$$a = b$$\nit",
        ),
        (
            "<math display=block><mi>x</mi><annotation encoding=TeX>x_1</annotation></math>",
            "$$x_1$$",
        ),
        (
            "the <img class=math src=/m.png alt='\\frac{a}\n{b}'> is",
            "the $\\frac{a} {b}$ is",
        ),
        (
            "<math alttext='a half'><mfrac><mn>1</mn><mn>2</mn></mfrac></math>",
            "$\\frac{1}{2}$",
        ),
        ("<math alttext='a half'></math>", "$a half$"),
        ("a <math></math>b", "a b"),
    ]);
}

#[test]
fn mathml_becomes_tex() {
    check(&[
        (
            "<math><mi>a</mi><mo>=</mo><msqrt><mrow><msup><mi>b</mi><mn>2</mn></msup><mo>&#x2062;</mo><mi>c</mi>\
             </mrow></msqrt></math>",
            "$a=\\sqrt{b^2c}$",
        ),
        (
            "<math> <munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>0</mn></mrow><mi>n</mi></munderover>\
             <msub><mi>x</mi><mi>i</mi></msub></math>",
            "$∑_{i=0}^nx_i$",
        ),
        (
            "<math><mi>sin</mi><mi>x</mi><mi>rank</mi><mtext>for all</mtext></math>",
            "$\\sin x\\mathrm{rank}\\text{for all}$",
        ),
        (
            "<math><mroot><mn>8</mn><mn>3</mn></mroot><mover><mi>v</mi><mo>→</mo></mover></math>",
            "$\\sqrt[3]{8}\\vec{v}$",
        ),
        (
            "<math><mfenced open='[' close=']'><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr>\
             <mtr><mtd><mn>3</mn></mtd><mtd><mn>4</mn></mtd></mtr></mtable></mfenced></math>",
            "$[\\begin{matrix} 1 & 2 \\\\ 3 & 4 \\end{matrix}]$",
        ),
        (
            "<math><msubsup><mrow><mi>a</mi><mi>b</mi></mrow><mn>1</mn><mn>10</mn></msubsup></math>",
            "${ab}_1^{10}$",
        ),
        (
            "<math><mo>{</mo><mn>5</mn><mo>%</mo><mo>}</mo></math>",
            "$\\{5\\%\\}$",
        ),
    ]);
}

#[test]
fn tex_in_the_text_is_kept_as_it_is() {
    check(&[
        ("so \\(a^2_i * b_j\\) is", "so $a^2_i * b_j$ is"),
        ("so \\[x\\,dx = *y*\\] is", "so\n$$x\\,dx = *y*$$\nis"),
        ("$$\\int_0^1 x\\,dx$$", "$$\\int_0^1 x\\,dx$$"),
        ("let $\\alpha_i^*$, $x^*$.", "let $\\alpha_i^*$, $x^*$."),
        ("let \\(x\\) and \\( y \\)", "let $x$ and $y$"),
        (
            "\\begin{align*}a &amp;= b \\\\ c\\end{align*} so",
            "$$\\begin{align*}a &= b \\\\ c\\end{align*}$$\nso",
        ),
    ]);
}

#[test]
fn prices_shells_and_expressions_are_no_formulas() {
    for text in [
        "from $5 to $6 and 2^3",
        "from $5^ to $6",
        "\\(foo\\|bar\\)",
        "group with \\( and \\)",
        "costs $$$",
        "echo $HOME/$USER",
        "a \\$x^2\\$ b",
        "open \\(a^2",
        "\\begin{itemize} a^2 \\end{itemize}",
    ] {
        assert_eq!(read(&format!("<p>{text}")).text, text);
    }
    let rendered = "<script src=MathJax.js></script><p>use \\(f and g\\)";
    assert_eq!(read(rendered).text, "use $f and g$");
    let code = "<p>use <code>\\(a^2\\)</code><pre>$$x^2$$</pre>";
    assert_eq!(
        read(code).main.unwrap().markdown,
        "use `\\(a^2\\)`\n\n```\n$$x^2$$\n```\n"
    );
}

#[test]
fn formulas_fit_into_cells_and_headings() {
    let html = "<table><tr><th>a<th>b<tr><td>\\(|x|^2\\)<td>$$\\|y\\|^2$$</table>\
        <h2>On <math display=block><mi>x</mi></math></h2>";
    let content = read(html);
    assert_eq!(
        content.main.unwrap().markdown,
        "| a | b |\n| --- | --- |\n| $\\vert x\\vert ^2$ | $\\Vert y\\Vert ^2$ |\n\n## On $x$\n"
    );
    assert_eq!(content.metadata.headings[0].text, "On $x$");
}

#[test]
fn tex_is_cleaned() {
    for (tex, expected) in [
        ("  a\n  b ", Some("$a b$")),
        ("a \\% b % c\nd", Some("$a \\% b d$")),
        ("\\(x\\)", Some("$x$")),
        ("{\\displaystyle a}{b}", Some("${\\displaystyle a}{b}$")),
        ("$a$", Some("$a$")),
        ("\\text{if $x$}", None),
        (" ", None),
    ] {
        let formula = Formula::new(tex, Layout::Inline);
        assert_eq!(formula.map(|it| it.signed()).as_deref(), expected, "{tex}");
    }
}

#[test]
fn many_signs_cost_little() {
    for sign in ["\\(", "\\[", "$$", "$", "\\begin{array}", "\\"] {
        let text = sign.repeat((4 << 20) / sign.len());
        let count = pieces(&text, TexUse::Rendered).count();
        assert!(count <= text.len(), "{sign}");
    }
}
