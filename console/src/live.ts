// Data that keeps up with the API: asked for again every second while the page is visible. When the API cannot
// be reached, the last data stays, with its time.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./api/client";
import { SignInNeeded } from "./session";

export interface Live<T> {
  data?: T;
  /** Why data is not there, or no longer new. */
  error?: Error;
  reload(): void;
}

const interval = 1000;
const slowest = 30_000;

type Listener = () => void;
const listeners = new Set<Listener>();

/** The state of the connection, for the header. */
export const connection: { at?: Date; error?: Error } = {};

/** Notes whether the API has answered. An answer that refuses one request leaves the connection as it is. */
function report(error?: Error) {
  if (error instanceof ApiError && error.status < 500 && error.status !== 401 && error.status !== 429) error = undefined;
  const changed = connection.error !== error;
  connection.error = error;
  if (!error) connection.at = new Date();
  if (changed) for (const listener of listeners) listener();
}

export function useConnection() {
  const [, refresh] = useState(0);
  useEffect(() => {
    const listener = () => refresh((n) => n + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return connection;
}

// Requests that wait for a better connection are made at once after a sign-in or a click on "Try again".
const waiting = new Set<() => void>();
export function askAgain() {
  for (const ask of waiting) ask();
}

/**
 * Calls ask now and then every so often while the page is visible; after errors more rarely. It ends when the
 * API says that it will not answer: with no right to read, or nothing there.
 */
export function useRepeated(ask: (signal: AbortSignal) => Promise<void>, onError: (error: Error) => void, depends: unknown[], every = interval): () => void {
  const again = useRef<() => void>(() => {});
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    let failures = 0;
    let asking = false;
    let asked = false; // again, while an answer was awaited
    const turn = async () => {
      if (asking) {
        asked = true;
        return;
      }
      asking = true;
      clearTimeout(timer);
      let wait = every;
      try {
        await ask(abort.signal);
        if (abort.signal.aborted) return;
        report();
        failures = 0;
      } catch (e) {
        if (abort.signal.aborted) return;
        const error = e as Error;
        report(error);
        onError(error);
        failures++;
        wait = Math.min(every * 2 ** Math.min(failures, 5), Math.max(slowest, every));
        if (error instanceof ApiError) wait = Math.max(wait, error.retryAfter * 1000);
        if (error instanceof SignInNeeded || (error instanceof ApiError && [400, 401, 403, 404].includes(error.status))) return;
      } finally {
        asking = false;
      }
      if (asked) wait = 0;
      asked = false;
      if (document.visibilityState === "visible") timer = window.setTimeout(turn, wait);
    };
    const seen = () => {
      if (document.visibilityState === "visible") void turn();
    };
    again.current = () => void turn();
    waiting.add(turn);
    document.addEventListener("visibilitychange", seen);
    void turn();
    return () => {
      abort.abort();
      clearTimeout(timer);
      waiting.delete(turn);
      document.removeEventListener("visibilitychange", seen);
    };
  }, depends);
  return () => again.current();
}

/** One answer of the API, kept up to date. */
export function useLive<T>(read: (signal: AbortSignal) => Promise<T>, depends: unknown[], every?: number): Live<T> {
  const [state, set] = useState<{ of?: unknown[]; data?: T; error?: Error }>({});
  const text = useRef("");
  const reload = useRepeated(
    async (signal) => {
      const data = await read(signal);
      if (signal.aborted) return;
      // Equal data is no news: nothing is drawn anew.
      const now = JSON.stringify(data);
      const same = now === text.current;
      text.current = now;
      set((old) => (same && old.of === depends && !old.error ? old : { of: depends, data }));
    },
    (error) => set((old) => ({ of: depends, data: old.of === depends ? old.data : undefined, error })),
    depends, every);
  // The data of another object is not shown under this one's name.
  const own = state.of?.every((d, n) => d === depends[n]);
  return own ? { data: state.data, error: state.error, reload } : { reload };
}
