// Findings beside the lines of a text: a sign in the gutter, the ground of the line, the place underlined, and
// the message under the line with a button for what is suggested.
import { StateEffect, StateField, RangeSet, type EditorState, type Extension, type Range } from "@codemirror/state";
import { Decoration, EditorView, GutterMarker, WidgetType, gutter, type DecorationSet } from "@codemirror/view";
import type { Schema } from "../api/client";
import { sentence } from "../ui/text";

export type Finding = Schema<"Diagnostic">;

const setFindings = StateEffect.define<Finding[]>();

interface Placed extends Finding {
  from: number;
  to: number;
}

/** The text that a finding is about: a word, a text in quotes, or a template. */
function extent(state: EditorState, f: Finding): Placed {
  const line = state.doc.line(Math.min(Math.max(f.line, 1), state.doc.lines));
  let at = Math.min(line.from + [...line.text].slice(0, Math.max(0, f.column - 1)).join("").length, line.to);
  // Of a field that is known, the value is meant.
  const key = /^([\w.-]+):\s+/.exec(line.text.slice(at - line.from));
  if (key && !f.code.startsWith("unknown-field") && !f.code.startsWith("unknown-parameter") && f.path.endsWith(key[1]!)) at += key[0].length;
  const rest = line.text.slice(at - line.from);
  const length = (/^"(?:[^"\\]|\\.)*"|^'[^']*'|^\{\{[^}]*\}\}|^[^\s,:{}[\]#]+/.exec(rest)?.[0] ?? rest.trimEnd()).length;
  return { ...f, from: at, to: Math.max(at + length, Math.min(at + 1, line.to)) };
}

/** What a finding suggests, from the text "did you mean …?". */
export function suggestion(f: Finding): string | undefined {
  const found = /did you mean (?:"([^"]+)"|\{\{([^}]+)\}\}|([\w.-]+))\?/.exec(f.message);
  return found?.[1] ?? found?.[2] ?? found?.[3];
}

const words = { error: "Error", warning: "Warning" };

class Message extends WidgetType {
  constructor(readonly finding: Placed) { super(); }
  override eq(other: Message) { return other.finding.message === this.finding.message && other.finding.severity === this.finding.severity && other.finding.from === this.finding.from; }
  override toDOM(view: EditorView) {
    const row = document.createElement("div"); // an editor does not see the margins of its widgets
    row.className = "cm-finding-row";
    const box = row.appendChild(document.createElement("div"));
    box.className = `cm-finding cm-${this.finding.severity}`;
    const text = box.appendChild(document.createElement("span"));
    text.textContent = sentence(this.finding.message);
    const near = suggestion(this.finding);
    if (near && !view.state.readOnly) {
      const use = box.appendChild(document.createElement("button"));
      use.type = "button";
      use.textContent = `Use ${near}`;
      use.onclick = () => this.replace(view, near);
    }
    return row;
  }
  /** Replaces the word that the finding is about. The text may have moved since. */
  private replace(view: EditorView, near: string) {
    const { doc } = view.state;
    const to = Math.min(this.finding.to, doc.length);
    const old = doc.sliceString(this.finding.from, to);
    // The last word: of {{name}} the name, of "text" the text.
    const inner = /^(["']?(?:\{\{\s*)?)(.*?)((?:\s*\??\}\})?["']?)$/.exec(old)!;
    const from = this.finding.from + inner[1]!.length;
    view.dispatch({ changes: { from, to: from + inner[2]!.length, insert: near }, selection: { anchor: from + near.length }, scrollIntoView: true });
    view.focus();
  }
  override ignoreEvent() { return true; }
}

class Sign extends GutterMarker {
  constructor(readonly severity: Finding["severity"]) { super(); }
  override eq(other: Sign) { return other.severity === this.severity; }
  override toDOM() {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 16 16");
    svg.setAttribute("class", `cm-sign cm-${this.severity}`);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", words[this.severity]);
    for (const [d, kind] of this.severity === "error" ? [["M5 1h6l4 4v6l-4 4H5l-4-4V5z", "ground"], ["M5.5 5.5l5 5M10.5 5.5l-5 5", "mark"]] : [["M8 1.5l7 13H1z", "ground"], ["M8 6v4M8 11.4v1.4", "mark"]]) {
      const path = svg.appendChild(document.createElementNS(svg.namespaceURI, "path"));
      path.setAttribute("d", d!);
      path.setAttribute("class", kind!);
    }
    return svg;
  }
}

interface Shown {
  placed: Placed[];
  decorations: DecorationSet;
  signs: RangeSet<GutterMarker>;
}

function draw(state: EditorState, placed: Placed[]): Shown {
  const ranges: Range<Decoration>[] = [];
  const lines = new Map<number, Finding["severity"]>();
  for (const f of placed) {
    const line = state.doc.lineAt(f.from);
    if (f.to > f.from) ranges.push(Decoration.mark({ class: `cm-underline cm-${f.severity}` }).range(f.from, f.to));
    ranges.push(Decoration.widget({ widget: new Message(f), block: true, side: 1 }).range(line.to));
    if (lines.get(line.from) !== "error") lines.set(line.from, f.severity);
  }
  for (const [from, severity] of lines) ranges.push(Decoration.line({ class: `cm-line-${severity}` }).range(from));
  return { placed, decorations: Decoration.set(ranges, true), signs: RangeSet.of([...lines].sort(([a], [b]) => a - b).map(([from, severity]) => new Sign(severity).range(from))) };
}

const field = StateField.define<Shown>({
  create: (state) => draw(state, []),
  update(shown, tr) {
    for (const e of tr.effects) if (e.is(setFindings)) return draw(tr.state, e.value.map((f) => extent(tr.state, f)));
    if (!tr.docChanged) return shown;
    // Until the text is checked again, its findings move along with it.
    const placed = shown.placed.map((f) => ({ ...f, from: tr.changes.mapPos(f.from, 1), to: tr.changes.mapPos(f.to, -1) })).map((f) => ({ ...f, to: Math.max(f.from, f.to) }));
    return draw(tr.state, placed);
  },
  provide: (f) => EditorView.decorations.from(f, (s) => s.decorations),
});

export const findings: Extension = [
  field,
  gutter({ class: "cm-signs", markers: (view) => view.state.field(field).signs, initialSpacer: () => new Sign("error") }),
];

export function showFindings(view: EditorView, list: Finding[]) {
  view.dispatch({ effects: setFindings.of(list) });
}

/** Moves to the next finding behind the cursor, or the first. */
export function nextFinding(view: EditorView): boolean {
  const { placed } = view.state.field(field);
  const all = [...placed].sort((a, b) => a.from - b.from);
  const next = all.find((f) => f.from > view.state.selection.main.head) ?? all[0];
  if (!next) return false;
  view.dispatch({ selection: { anchor: next.from }, effects: EditorView.scrollIntoView(next.from, { y: "center" }) });
  view.focus();
  return true;
}
