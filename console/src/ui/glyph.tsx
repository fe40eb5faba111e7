// The signs of states. Each differs by shape, so that colour is never needed to tell them apart.
export type Sign = "done" | "run" | "wait" | "hourglass" | "lock" | "hold" | "fail" | "silent" | "skip" | "pause" | "due" | "source" | "search" | "arrow" | "more" | "people" | "jobs" | "undo" | "warning" | "plus" | "download" | "upload" | "retry" | "edit" | "close";

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
  more: <><circle cx="3" cy="8" r="1.4" fill="currentColor" /><circle cx="8" cy="8" r="1.4" fill="currentColor" /><circle cx="13" cy="8" r="1.4" fill="currentColor" /></>,
  people: <path d="M6 7.5a2.6 2.6 0 1 0 0-5.2 2.6 2.6 0 0 0 0 5.2zM1.5 14c0-6 9-6 9 0M10.5 2.6a2.6 2.6 0 0 1 0 4.8M12 9.8c1.7.6 2.5 2 2.5 4.2" stroke="currentColor" stroke-width="1.4" fill="none" />,
  jobs: <path d="M2 4h12M2 8h12M2 12h8" stroke="currentColor" stroke-width="1.5" fill="none" />,
  undo: <path d="M5.5 2.5L2.5 5.5l3 3M2.5 5.5H9a4 4 0 0 1 0 8H6" stroke="currentColor" stroke-width="1.5" fill="none" />,
  warning: <><path d="M8 1.5l7 13H1z" fill="currentColor" /><path d="M8 6v4M8 11.4v1.4" stroke="var(--bg)" stroke-width="1.6" /></>,
  plus: <path d="M8 2.5v11M2.5 8h11" stroke="currentColor" stroke-width="1.6" fill="none" />,
  download: <path d="M8 2v8M4.5 7L8 10.5 11.5 7M2.5 11v2.5h11V11" stroke="currentColor" stroke-width="1.5" fill="none" />,
  upload: <path d="M8 10.5v-8M4.5 6L8 2.5 11.5 6M2.5 11v2.5h11V11" stroke="currentColor" stroke-width="1.5" fill="none" />,
  retry: <path d="M13.5 8a5.5 5.5 0 1 1-1.8-4.1M13.5 1.5v3.2h-3.2" stroke="currentColor" stroke-width="1.5" fill="none" />,
  edit: <path d="M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3z" stroke="currentColor" stroke-width="1.4" fill="none" />,
  close: <path d="M3.5 3.5l9 9M12.5 3.5l-9 9" stroke="currentColor" stroke-width="1.5" fill="none" />,
  arrow: <path d="M3 8h9M8.5 4.5L12 8l-3.5 3.5" stroke="currentColor" stroke-width="1.6" fill="none" />,
};

export function Glyph({ sign, kind }: { sign: Sign; kind?: string }) {
  return <svg class={`glyph ${kind ? `k-${kind}` : ""}`} viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">{paths[sign]}</svg>;
}
