// Lists that change while someone is about to press something in them.
import { useRef, useState } from "preact/hooks";

/**
 * Keeps the order and the rows of a list while the pointer is above it: values change in place, and new rows
 * wait. The handlers belong to the element around the list.
 */
export function useSteady<T>(items: T[], keyOf: (item: T) => string) {
  const [held, hold] = useState(false);
  const shown = useRef<T[]>([]);
  if (!held || shown.current.length === 0 || items.length === 0) shown.current = items;
  else {
    const fresh = new Map(items.map((i) => [keyOf(i), i]));
    shown.current = shown.current.map((i) => fresh.get(keyOf(i)) ?? i);
  }
  const kept = new Set(shown.current.map(keyOf));
  return {
    items: shown.current,
    waiting: items.filter((i) => !kept.has(keyOf(i))).length,
    handlers: { onMouseEnter: () => hold(true), onMouseLeave: () => hold(false) },
  };
}
