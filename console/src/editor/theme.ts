// The colours of the editor: those of the page, whose custom properties reach it.
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const highlight = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--run-t)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--done-t)" },
  { tag: tags.comment, color: "var(--text-3)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.bool, tags.number, tags.null, tags.atom], color: "var(--warn-t)" },
  { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: "var(--text-3)" },
  { tag: tags.invalid, color: "var(--fail-t)" },
]);

const look = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--bg)", fontSize: "12px", maxHeight: "min(720px, 75vh)" },
  "&.cm-focused, &:focus-within": { outline: "2px solid var(--ring)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "20px", overflow: "auto" },
  ".cm-content": { minHeight: "240px", caretColor: "var(--text)", padding: "8px 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--bg)", color: "var(--text-3)", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--hover) 70%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground, .cm-content ::selection": { backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-weak)", outline: "1px solid var(--line-2)" },
  ".cm-foldGutter .cm-gutterElement": { cursor: "pointer", paddingRight: "4px" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--sunken)", border: "0", color: "var(--text-2)", padding: "0 6px" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", border: "1px solid var(--line-2)", borderRadius: "8px", boxShadow: "var(--shadow)", color: "var(--text)", overflow: "hidden" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "12px", maxHeight: "240px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "4px 10px", lineHeight: "20px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent-weak)", color: "var(--text)" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "600", color: "var(--accent)" },
  ".cm-completionDetail": { fontStyle: "normal", color: "var(--text-3)", marginLeft: "16px" },
  ".cm-tooltip.cm-completionInfo": { padding: "10px 12px", maxWidth: "320px", fontFamily: "var(--font)", fontSize: "12px", lineHeight: "16px" },
  ".cm-signs .cm-gutterElement": { padding: "0 2px", width: "18px" },
  ".cm-sign": { width: "14px", height: "14px", display: "block", marginTop: "3px" },
  ".cm-sign .mark": { stroke: "var(--bg)", strokeWidth: "1.7", fill: "none" },
  ".cm-sign.cm-error .ground": { fill: "var(--fail-t)" },
  ".cm-sign.cm-warning .ground": { fill: "var(--warn-t)" },
  ".cm-line-error": { backgroundColor: "var(--fail-weak)" },
  ".cm-line-warning": { backgroundColor: "var(--warn-weak)" },
  ".cm-underline.cm-error": { textDecoration: "underline wavy var(--fail) 1px", textUnderlineOffset: "3px" },
  ".cm-underline.cm-warning": { textDecoration: "underline wavy var(--warn) 1px", textUnderlineOffset: "3px" },
  ".cm-finding": { display: "flex", gap: "12px", justifyContent: "space-between", alignItems: "baseline", flexWrap: "wrap", font: "12px/16px var(--font)", padding: "6px 12px", whiteSpace: "pre-wrap", overflowWrap: "anywhere", color: "var(--text)", borderLeft: "2px solid" },
  ".cm-finding-row": { padding: "0 8px 6px 6px" },
  ".cm-finding.cm-error": { backgroundColor: "var(--fail-weak)", borderColor: "var(--fail)" },
  ".cm-finding.cm-warning": { backgroundColor: "var(--warn-weak)", borderColor: "var(--warn)" },
  ".cm-finding button": { font: "inherit", fontWeight: "600", color: "var(--accent)", background: "none", border: "0", padding: "6px 4px", margin: "-6px 0", minHeight: "28px", cursor: "pointer" },
  ".cm-finding button:focus-visible": { outline: "2px solid var(--ring)" },
  ".cm-changedLine, .cm-insertedLine": { backgroundColor: "var(--done-weak) !important" },
  ".cm-changedText": { background: "color-mix(in srgb, var(--done) 25%, transparent) !important" },
  ".cm-deletedChunk": { backgroundColor: "var(--fail-weak) !important", paddingLeft: "6px" },
  ".cm-deletedChunk .cm-deletedText": { background: "color-mix(in srgb, var(--fail) 22%, transparent) !important" },
  ".cm-deletedLine, .cm-deletedLine del, .cm-deletedText": { textDecoration: "none" },
  ".cm-changeGutter": { width: "3px" },
  ".cm-changedLineGutter, .cm-insertedLineGutter": { background: "var(--done)" },
  ".cm-deletedLineGutter": { background: "var(--fail)" },
  ".cm-collapsedLines:before, .cm-collapsedLines:after": { content: "'⋯' !important" },
  ".cm-collapsedLines": { color: "var(--text-2)", background: "var(--sunken)", padding: "4px 12px", font: "12px/16px var(--font)" },
  ".cm-panels": { backgroundColor: "var(--sunken)", color: "var(--text)" },
});

export const theme = [look, syntaxHighlighting(highlight)];
