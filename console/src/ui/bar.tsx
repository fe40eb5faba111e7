import { people } from "./text";

export interface Counts {
  done: number;
  run: number;
  wait: number;
  fail: number;
  skip: number;
}

const order = ["done", "run", "wait", "fail", "skip"] as const;
const words: Record<(typeof order)[number], string> = { done: "done", run: "running", wait: "waiting", fail: "failed", skip: "skipped" };

/** The members of something by their state: failures line up at the right. One of thousands still has four pixels. */
export function Bar({ counts, size = "" }: { counts: Counts; size?: "thick" | "thin" | "" }) {
  const shown = order.filter((kind) => counts[kind] > 0);
  return (
    <div class={`bar ${size}`} role="img" aria-label={label(counts)}>
      {shown.length === 0 && <i class="s-wait" style={{ flexGrow: 1 }} />}
      {shown.map((kind) => <i key={kind} class={`s-${kind}`} style={{ flexGrow: counts[kind] }} />)}
    </div>
  );
}

const figureSpace = "\u2007"; // as wide as a digit

/** The counts of a bar in words. Each keeps its place while the others change. */
export function Legend({ counts }: { counts: Counts }) {
  const width = total(counts).toLocaleString().length;
  return (
    <div class="legend" aria-hidden="true">
      {order.map((kind) => (counts[kind] > 0 || kind !== "skip") && <span key={kind} class={counts[kind] > 0 ? kind : ""}><i class={`s-${kind}`} /><b>{counts[kind].toLocaleString().padStart(width, figureSpace)}</b> {words[kind]}</span>)}
    </div>
  );
}

const total = (counts: Counts) => order.reduce((sum, kind) => sum + counts[kind], 0);

function label(counts: Counts) {
  return `${people(total(counts))}: ${order.filter((kind) => counts[kind] > 0).map((kind) => `${counts[kind]} ${words[kind]}`).join(", ") || "none started"}`;
}
