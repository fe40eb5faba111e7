// The signs of states. Each differs by shape, so that colour is never needed to tell them apart.
export type Sign = "done" | "run" | "wait" | "hourglass" | "lock" | "hold" | "fail" | "silent" | "skip" | "pause" | "due" | "source" | "search" | "arrow";

const paths: Record<Sign, preact.ComponentChildren> = {
  done: <><circle cx="8" cy="8" r="7" fill="currentColor" /><path d="M4.8 8.2l2.2 2.2 4.2-4.6" stroke="var(--bg)" stroke-width="1.8" fill="none" /></>,
  run: <><circle cx="8" cy="8" r="6" stroke="var(--wait)" stroke-width="2" fill="none" /><path class="arc" d="M8 2a6 6 0 0 1 6 6" stroke="currentColor" stroke-width="2" fill="none" /></>,
  wait: <path d="M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 4.5V8l2.4 1.6" stroke="currentColor" stroke-width="1.6" fill="none" />,
  hourglass: <path d="M4 2h8M4 14h8M5 2c0 4 6 8 6 12M11 2c0 4-6 8-6 12" stroke="currentColor" stroke-width="1.6" fill="none" />,
  lock: <><rect x="3" y="7" width="10" height="7" rx="1.5" fill="currentColor" /><path d="M5 7V5a3 3 0 0 1 6 0v2" stroke="currentColor" stroke-width="1.6" fill="none" /></>,
  hold: <><path d="M8 1l7 7-7 7-7-7z" fill="currentColor" /><path d="M6.4 5.5v5M9.6 5.5v5" stroke="var(--bg)" stroke-width="1.5" /></>,
  fail: <><path d="M5 1h6l4 4v6l-4 4H5l-4-4V5z" fill="currentColor" /><path d="M5.5 5.5l5 5M10.5 5.5l-5 5" stroke="var(--bg)" stroke-width="1.7" /></>,
  silent: <><circle cx="8" cy="8" r="6" stroke="currentColor" stroke-width="1.8" stroke-dasharray="2.4 2.3" fill="none" /><circle cx="8" cy="8" r="1.8" fill="currentColor" /></>,
  skip: <><circle cx="8" cy="8" r="6" stroke="currentColor" stroke-width="1.6" fill="none" /><path d="M5 8h5M8 5.8L10.2 8 8 10.2" stroke="currentColor" stroke-width="1.5" fill="none" /></>,
  pause: <><circle cx="8" cy="8" r="6" stroke="currentColor" stroke-width="1.6" fill="none" /><path d="M6.4 5.6v4.8M9.6 5.6v4.8" stroke="currentColor" stroke-width="1.6" /></>,
  due: <circle cx="8" cy="8" r="6" stroke="currentColor" stroke-width="1.6" fill="none" />,
  source: <path d="M2.5 4c0-3 11-3 11 0v8c0 3-11 3-11 0zM2.5 4c0 3 11 3 11 0M2.5 8c0 3 11 3 11 0" stroke="currentColor" stroke-width="1.5" fill="none" />,
  search: <path d="M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3L14 14" stroke="currentColor" stroke-width="1.6" fill="none" />,
  arrow: <path d="M3 8h9M8.5 4.5L12 8l-3.5 3.5" stroke="currentColor" stroke-width="1.6" fill="none" />,
};

export function Glyph({ sign, kind }: { sign: Sign; kind?: string }) {
  return <svg class={`glyph ${kind ? `k-${kind}` : ""}`} viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">{paths[sign]}</svg>;
}
