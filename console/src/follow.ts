// Lists of a wave that are read again when the wave has changed, rather than every second.
import { useEffect, useRef } from "preact/hooks";

/** How often such a list is read without a change: heartbeats and the passing of time make none. */
export const rarely = 30_000;

/** Reads lists again when a mark of what they belong to has changed. */
export function useFollow(mark: string | undefined, ...reloads: (() => void)[]) {
  const last = useRef(mark);
  useEffect(() => {
    if (last.current !== undefined && mark !== last.current) for (const reload of reloads) reload();
    last.current = mark;
  }, [mark]);
}
