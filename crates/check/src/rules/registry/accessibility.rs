//! Accessibility rules: the part of axe-core that needs no layout, under the same ids. It owns their
//! names and texts and refuses to judge. Invariant: axe's critical and serious are warnings, the rest
//! are notices, and none is an error by default.

use super::declare_rules;

declare_rules! {
    IMAGE_ALT = "a11y/image-alt", Warning, "an image has no text" {
        why: "Whoever cannot see it does not know what it shows.",
        found: "An img element has neither alt, aria-label, aria-labelledby nor title. An empty alt, and roles that hide it, are fine.",
        mend: "Describe the image in alt, or write alt=\"\" if it only decorates.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `image-alt` fits.",
    }
    INPUT_IMAGE_ALT = "a11y/input-image-alt", Warning, "an image button has no text" {
        why: "Nobody who cannot see it knows what it does.",
        found: "An input of type image has no alt, aria-label, aria-labelledby or title.",
        mend: "Say in alt what the button does.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `input-image-alt` fits.",
    }
    AREA_ALT = "a11y/area-alt", Warning, "an area of an image map has no text" {
        why: "The link has no name.",
        found: "An area with an href has no alt, aria-label, aria-labelledby or title.",
        mend: "Say in alt where it leads.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `area-alt` fits.",
    }
    LINK_NAME = "a11y/link-name", Warning, "a link has no text" {
        why: "A screen reader says only \"link\".",
        found: "A link has no text, no image with alt, and no name by aria-label, aria-labelledby or title.",
        mend: "Put words into it.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `link-name` fits.",
    }
    BUTTON_NAME = "a11y/button-name", Warning, "a button has no text" {
        why: "A screen reader says only \"button\".",
        found: "A button has no text and no other name.",
        mend: "Put words into it, or aria-label.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `button-name` fits.",
    }
    LABEL = "a11y/label", Warning, "a field of a form has no label" {
        why: "Nobody who cannot see the page knows what to type.",
        found: "A field has no label around or for it, and no aria-label, aria-labelledby or title.",
        mend: "Add a label element.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `label` fits.",
    }
    SELECT_NAME = "a11y/select-name", Warning, "a list of choices has no label" {
        why: "Nobody who cannot see the page knows what is chosen.",
        found: "A select has no label around or for it, and no other name.",
        mend: "Add a label element.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `select-name` fits.",
    }
    HTML_HAS_LANG = "a11y/html-has-lang", Warning, "a page does not say its language" {
        why: "A screen reader speaks it with the wrong voice.",
        found: "The html element has no lang.",
        mend: "Write <html lang=en> with the right language.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `html-has-lang` fits.",
    }
    HTML_LANG_VALID = "a11y/html-lang-valid", Warning, "a page says a language that there is not" {
        why: "A screen reader speaks it with the wrong voice.",
        found: "The lang of the html element is no language.",
        mend: "Use a code such as en or pt-BR.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `html-lang-valid` fits.",
    }
    DOCUMENT_TITLE = "a11y/document-title", Warning, "a document has no title" {
        why: "It is the first thing a screen reader says.",
        found: "There is no title element with words.",
        mend: "Write one.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `document-title` fits.",
    }
    FRAME_TITLE = "a11y/frame-title", Warning, "a frame has no title" {
        why: "Nobody knows what is in it before going in.",
        found: "A frame has no title, aria-label or aria-labelledby.",
        mend: "Add title.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `frame-title` fits.",
    }
    META_REFRESH = "a11y/meta-refresh", Warning, "a page reloads itself" {
        why: "Slow readers lose their place.",
        found: "A meta element refreshes the page after a while.",
        mend: "Let readers reload it, or redirect at the server.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `meta-refresh` fits.",
    }
    META_VIEWPORT = "a11y/meta-viewport", Warning, "a page forbids zooming" {
        why: "Weak eyes need it.",
        found: "The viewport says user-scalable=no, or a maximum-scale below 2.",
        mend: "Remove both.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `meta-viewport` fits.",
    }
    DUPLICATE_ID_ARIA = "a11y/duplicate-id-aria", Warning, "an id that names something is there twice" {
        why: "The label goes to the wrong element.",
        found: "An id that a label or an aria attribute refers to is on two elements.",
        mend: "Make ids unique.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `duplicate-id-aria` fits.",
    }
    ARIA_ROLES = "a11y/aria-roles", Warning, "a role does not exist" {
        why: "Browsers ignore it.",
        found: "The value of role is none of WAI-ARIA.",
        mend: "Correct or remove it.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `aria-roles` fits.",
    }
    ARIA_VALID_ATTR = "a11y/aria-valid-attr", Warning, "an aria attribute does not exist" {
        why: "Browsers ignore it.",
        found: "The attribute begins with aria- and is none of WAI-ARIA.",
        mend: "Correct its spelling.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `aria-valid-attr` fits.",
    }
    LIST = "a11y/list", Warning, "a list has children that are no items" {
        why: "The number of items is told wrongly.",
        found: "A ul or ol has direct children other than li, script and template.",
        mend: "Put them into li elements.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `list` fits.",
    }
    LISTITEM = "a11y/listitem", Warning, "an item stands in no list" {
        why: "It is not told as an item.",
        found: "An li is not a child of ul, ol or menu.",
        mend: "Put it into a list.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `listitem` fits.",
    }
    DLITEM = "a11y/dlitem", Warning, "a term stands in no list of terms" {
        why: "It is not told as one.",
        found: "A dt or dd is not in a dl.",
        mend: "Put it into a dl.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `dlitem` fits.",
    }
    TD_HEADERS_ATTR = "a11y/td-headers-attr", Warning, "a cell refers to a heading that is not in its table" {
        why: "The heading is not told.",
        found: "The headers attribute names an id that no cell of the table has.",
        mend: "Correct the ids.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `td-headers-attr` fits.",
    }
    TABINDEX = "a11y/tabindex", Warning, "an element jumps the order of the tab key" {
        why: "The order on the page and under the key differ.",
        found: "An element has a tabindex above 0.",
        mend: "Use 0, and put elements in their order.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `tabindex` fits.",
    }
    LANDMARK_ONE_MAIN = "a11y/landmark-one-main", Notice, "a page has no main part" {
        why: "Nobody can jump to what the page is about.",
        found: "There is no main element and no element with that role.",
        mend: "Put the content into main.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `landmark-one-main` fits.",
    }
    HEADING_ORDER = "a11y/heading-order", Notice, "a heading skips a level" {
        why: "The outline has a gap.",
        found: "A heading is more than one level below the one before.",
        mend: "Use the next level.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `heading-order` fits.",
    }
    EMPTY_HEADING = "a11y/empty-heading", Notice, "a heading has no text" {
        why: "It stands in the outline without a name.",
        found: "A heading element has no words and no image with alt.",
        mend: "Fill or remove it.",
        false_alarms: "What scripts add later is not seen. The explanation of axe-core for `empty-heading` fits.",
    }
}
