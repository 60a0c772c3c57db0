//! Beginnings of applications as common tool chains write them, each in several dresses.
//!
//! Owns what a page has in its head and body. It refuses to know the rule that judges it.

/// A tool chain: its name, what it adds to the head, and its body.
const CHAINS: [(&str, &str, &str); 14] = [
    (
        "vite-react",
        "<script type=\"module\" crossorigin src=\"/assets/index-BkZ1.js\"></script>",
        "<div id=\"root\"></div>",
    ),
    (
        "create-react-app",
        "<script defer=\"defer\" src=\"/static/js/main.2f1c.js\"></script>",
        "<noscript>You need to enable JavaScript to run this app.</noscript><div id=\"root\"></div>",
    ),
    (
        "vue-cli",
        "<script defer=\"defer\" src=\"/js/chunk-vendors.9a.js\"></script><script defer src=\"/js/app.7.js\"></script>",
        "<noscript><strong>We're sorry but shop doesn't work properly without JavaScript enabled. Please enable it \
         to continue.</strong></noscript><div id=\"app\"></div>",
    ),
    (
        "vite-vue",
        "<script type=\"module\" src=\"/assets/index-4f.js\"></script>",
        "<div id=\"app\"></div>",
    ),
    (
        "angular",
        "<base href=\"/\"><style>body{margin:0}</style>",
        "<app-root></app-root><script src=\"polyfills.js\" type=\"module\"></script><script src=\"main.js\" type=\"module\"></script>",
    ),
    (
        "svelte",
        "<script defer src='/build/bundle.js'></script>",
        "",
    ),
    (
        "sveltekit-spa",
        "<link rel=\"modulepreload\" href=\"/_app/immutable/entry/start.js\">",
        "<div style=\"display: contents\"><script>{const el=document.currentScript.parentElement;Promise.all([import(\
         \"/_app/start.js\")]).then(([k])=>k.start(el))}</script></div>",
    ),
    (
        "nuxt-spa",
        "<script src=\"/_nuxt/entry.js\" type=\"module\"></script>",
        "<div id=\"__nuxt\"></div><script type=\"application/json\" id=\"__NUXT_DATA__\">[{\"state\":1}]</script>",
    ),
    (
        "next-client",
        "<script src=\"/_next/static/chunks/webpack.js\" defer></script>",
        "<div id=\"__next\"></div><script id=\"__NEXT_DATA__\" type=\"application/json\">{\"page\":\"/\"}</script>",
    ),
    (
        "gatsby",
        "<script src=\"/app-1.js\" async></script>",
        "<noscript id=\"gatsby-noscript\">This app works best with JavaScript enabled.</noscript><div id=\"___gatsby\"></div>",
    ),
    (
        "ember",
        "<meta name=\"app/config/environment\" content=\"%7B%7D\">",
        "<script src=\"/assets/vendor.js\"></script><script src=\"/assets/app.js\"></script><div id=\"ember-basic-dropdown-wormhole\"></div>",
    ),
    (
        "flutter",
        "<script src=\"flutter.js\" defer></script>",
        "<script>window.addEventListener('load',function(){_flutter.loader.load()})</script>",
    ),
    (
        "solid",
        "<script type=\"module\" src=\"/assets/index.3.js\"></script>",
        "<noscript>You need to enable JavaScript to run this app.</noscript><div id=\"root\"></div>",
    ),
    (
        "parcel-preact",
        "",
        "<div id=\"mount\"></div><script src=\"/index.7d.js\"></script>",
    ),
];

/// Dresses: what a project adds to what its tool chain wrote.
const DRESSES: [(&str, &str, &str); 5] = [
    ("plain", "", ""),
    (
        "preloads",
        "<link rel=modulepreload href=/a/1.js><link rel=modulepreload href=/a/2.js><link rel=modulepreload href=/a/3.js>\
         <link rel=icon href=/favicon.svg><link rel=apple-touch-icon href=/180.png><link rel=manifest href=/site.webmanifest>\
         <link rel=stylesheet href=/assets/index.css>",
        "",
    ),
    (
        "described",
        "<meta name=description content=\"All the things that our shop has, in all colours and sizes, delivered to your door on \
         the next day or the day after.\"><meta property=og:title content=Shop><meta property=og:image content=/og.png>\
         <link rel=canonical href=https://shop.test/>",
        "",
    ),
    (
        "loading",
        "<style>.spinner{border:4px solid #ccc;border-radius:50%;animation:spin 1s linear infinite}@keyframes spin{to{\
         transform:rotate(360deg)}}</style>",
        "<div class=splash><svg viewBox=\"0 0 10 10\"><circle r=4 /></svg><p>Loading, please wait …</p></div>",
    ),
    (
        "tracked",
        "<script>window.dataLayer=window.dataLayer||[];function gtag(){dataLayer.push(arguments)}gtag('js',new Date())</script>\
         <script async src=https://tags.test/gtag.js></script>",
        "<template id=card><article><h2>Title of a card that is shown later, with a text of some length to fill it, and more \
         of that, so that it would count if it were shown.</h2></article></template>",
    ),
];

/// All of them with their names.
pub(crate) fn shells() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (chain, head, body) in CHAINS {
        for (dress, more_head, more_body) in DRESSES {
            let html = format!(
                "<!doctype html>\n<html lang=\"en\">\n  <head>\n    <meta charset=\"utf-8\">\n    \
                 <meta name=\"viewport\" content=\"width=device-width\">\n    <title>Shop</title>\n    \
                 {more_head}\n    {head}\n  </head>\n  <body>\n    {body}\n    {more_body}\n  </body>\n</html>\n"
            );
            all.push((format!("{chain}, {dress}"), html));
        }
    }
    all
}
