import { useEffect, useState } from "preact/hooks";
import { explain } from "./failure";

interface Toast {
  id: number;
  text: string;
  error?: boolean;
  undo?: () => void;
}

const shown = new Set<(t: Toast) => void>();
let last = 0;

/** Tells the result of an action in one line, for ten seconds. */
export function toast(text: string, undo?: () => void) {
  for (const show of shown) show({ id: ++last, text, undo });
}

/** Tells why something failed that has no other place. It stays until it is closed. */
export function toastError(error: unknown) {
  for (const show of shown) show({ id: ++last, text: explain(error).text, error: true });
}

export function Toasts() {
  const [list, set] = useState<Toast[]>([]);
  const close = (t: Toast) => set((old) => old.filter((o) => o.id !== t.id));
  useEffect(() => {
    const show = (t: Toast) => {
      set((old) => [...old, t]);
      if (!t.error) setTimeout(() => close(t), 10_000);
    };
    shown.add(show);
    return () => void shown.delete(show);
  }, []);
  return (
    <div class="toasts" role="status">
      {list.map((t) => (
        <div class="toast" key={t.id}>
          <span>{t.text}</span>
          {t.undo && <button onClick={() => { t.undo!(); close(t); }}>Undo</button>}
          {t.error && <button onClick={() => close(t)}>Close</button>}
        </div>
      ))}
    </div>
  );
}
