// The editor of a runbook's YAML, and its comparison with another version. It lives in a shadow root, because
// there its styles need no style element, which the Content-Security-Policy forbids.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, codeFolding, foldGutter, foldKeymap, forceParsing, indentOnInput } from "@codemirror/language";
import { diff, unifiedMergeView } from "@codemirror/merge";
import { Annotation, Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { completer, type Known } from "./complete";
import { findings, nextFinding, showFindings, type Finding } from "./findings";
import { theme } from "./theme";

/** A change that the owner of the text made. */
const owners = Annotation.define<boolean>();

export interface EditorHandle {
  /** Puts the cursor into a line and shows it. */
  goTo(line: number): void;
  nextFinding(): void;
}

interface Props {
  label: string;
  value: string;
  onValue?(text: string): void;
  readOnly?: boolean;
  findings?: Finding[];
  known?: Known;
  /** The text to show the changes from. */
  before?: string;
  /** Leaves out long stretches without a change. */
  collapse?: boolean;
  handle?: { current: EditorHandle | null };
}

/** Tab leaves the editor, as it leaves each field; Escape, then Tab, is not needed. */
export function Editor({ label, value, onValue, readOnly = false, findings: list, known, before, collapse, handle }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const now = useRef({ onValue, known });
  now.current = { onValue, known };
  // Texts that were told to the owner and have not come back as the value. One that is not among them is
  // the owner's: while typing goes on, the value is a little older than the text.
  const told = useRef<string[]>([]);
  const parts = useRef({ changes: new Compartment(), access: new Compartment() });

  useLayoutEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: "open" });
    const frame = document.createElement("div");
    root.replaceChildren(frame);
    const { changes, access } = parts.current;
    view.current = new EditorView({
      parent: frame, root,
      state: EditorState.create({
        doc: value,
        extensions: [
          lineNumbers(), findings, codeFolding(), foldGutter(), history(), drawSelection(), indentOnInput(), bracketMatching(), closeBrackets(),
          highlightActiveLine(), highlightActiveLineGutter(), yaml(), theme,
          autocompletion({ override: [completer(() => now.current.known ?? { functions: new Map() })], icons: false }),
          keymap.of([{ key: "Enter", run: parseBefore }, { key: "F8", run: nextFinding }, ...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...foldKeymap, ...defaultKeymap]),
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", spellcheck: "false", autocorrect: "off", autocapitalize: "off" }),
          EditorState.phrases.of({ "$ unchanged lines": "$ lines without a change" }),
          access.of(accessOf(readOnly)),
          changes.of(changesOf(before, collapse)),
          EditorView.updateListener.of((u) => {
            if (!u.docChanged || u.transactions.some((t) => t.annotation(owners))) return;
            const text = u.state.doc.toString();
            told.current.push(text);
            now.current.onValue?.(text);
          }),
        ],
      }),
    });
    return () => view.current?.destroy();
  }, []);

  // The text changes with the rest of the page, and only where it differs: the cursor keeps its place.
  useLayoutEffect(() => {
    const at = told.current.lastIndexOf(value);
    if (at >= 0) {
      told.current.splice(0, at + 1);
      return;
    }
    told.current = [];
    const { state } = view.current!;
    const text = state.toText(value).toString(); // with the editor's ends of lines
    const changes = diff(state.doc.toString(), text, { scanLimit: 500 }).map((c) => ({ from: c.fromA, to: c.toA, insert: text.slice(c.fromB, c.toB) }));
    if (changes.length > 0) view.current!.dispatch({ changes, annotations: owners.of(true) });
  }, [value]);
  useEffect(() => { showFindings(view.current!, list ?? []); }, [list]);
  useEffect(() => view.current!.dispatch({ effects: parts.current.access.reconfigure(accessOf(readOnly)) }), [readOnly]);
  useEffect(() => view.current!.dispatch({ effects: parts.current.changes.reconfigure(changesOf(before, collapse)) }), [before, collapse]);
  useEffect(() => {
    if (!handle) return;
    handle.current = {
      goTo(n) {
        const v = view.current!;
        const line = v.state.doc.line(Math.min(Math.max(n, 1), v.state.doc.lines));
        v.dispatch({ selection: { anchor: line.from + line.text.length - line.text.trimStart().length }, effects: EditorView.scrollIntoView(line.from, { y: "center" }) });
        v.focus();
      },
      nextFinding: () => void nextFinding(view.current!),
    };
  }, []);

  return <div class="editor-host" ref={host} />;
}

// The indentation of a new line comes from the syntax before it, which is parsed in the background: on a slow
// machine the cursor can be ahead. The next command for the key makes the line.
function parseBefore(view: EditorView): boolean {
  forceParsing(view, view.state.selection.main.to, 200);
  return false;
}

const accessOf = (readOnly: boolean): Extension => [EditorState.readOnly.of(readOnly)];

const changesOf = (before?: string, collapse?: boolean): Extension =>
  before === undefined ? [] : unifiedMergeView({ original: before, mergeControls: false, syntaxHighlightDeletions: true, gutter: true, ...(collapse && { collapseUnchanged: { margin: 3, minSize: 6 } }) });
