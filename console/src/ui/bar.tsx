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
const width = 1000;
const least = 8; // of 1000, so that one failed person among thousands is seen
const gap = 2;

/** The members of something by their state: failures line up at the right. */
export function Bar({ counts, size = "" }: { counts: Counts; size?: "thick" | "thin" | "" }) {
  const total = order.reduce((sum, kind) => sum + counts[kind], 0);
  const shown = order.filter((kind) => counts[kind] > 0);
  const room = width - gap * Math.max(0, shown.length - 1) - least * shown.length;
  let x = 0;
  return (
    <svg class={`bar ${size}`} viewBox={`0 0 ${width} 8`} preserveAspectRatio="none" role="img" aria-label={label(counts)}>
      {total === 0 && <rect class="s-wait" width={width} height="8" />}
      {shown.map((kind) => {
        const w = least + (room * counts[kind]) / total;
        const at = x;
        x += w + gap;
        return <rect class={`s-${kind}`} x={at} y="0" width={w} height="8" rx="2" vector-effect="non-scaling-stroke" />;
      })}
    </svg>
  );
}

export function Legend({ counts }: { counts: Counts }) {
  return (
    <div class="legend" aria-hidden="true">
      {order.map((kind) => (counts[kind] > 0 || kind === "done") && (
        <span class={kind}>
          <svg class="bar" viewBox="0 0 12 8"><rect class={`s-${kind}`} x=".5" y=".5" width="11" height="7" rx="2" /></svg>
          <b>{counts[kind].toLocaleString()}</b> {words[kind]}
        </span>
      ))}
    </div>
  );
}

function label(counts: Counts) {
  const total = order.reduce((sum, kind) => sum + counts[kind], 0);
  return `${people(total)}: ${order.filter((kind) => counts[kind] > 0).map((kind) => `${counts[kind]} ${words[kind]}`).join(", ") || "none started"}`;
}
