import { useEffect, useState } from "preact/hooks";

interface Toast {
  id: number;
  text: string;
  undo?: () => void;
}

const shown = new Set<(t: Toast) => void>();
let last = 0;

/** Tells the result of an action in one line, for ten seconds. */
export function toast(text: string, undo?: () => void) {
  for (const show of shown) show({ id: ++last, text, undo });
}

export function Toasts() {
  const [list, set] = useState<Toast[]>([]);
  useEffect(() => {
    const show = (t: Toast) => {
      set((old) => [...old, t]);
      setTimeout(() => set((old) => old.filter((o) => o.id !== t.id)), 10_000);
    };
    shown.add(show);
    return () => void shown.delete(show);
  }, []);
  return (
    <div class="toasts" role="status">
      {list.map((t) => (
        <div class="toast" key={t.id}>
          {t.text}
          {t.undo && <button onClick={() => { t.undo!(); set((old) => old.filter((o) => o !== t)); }}>Undo</button>}
        </div>
      ))}
    </div>
  );
}
