// Data that keeps up with the API: asked for again every second while the page is visible, with the ETag of
// the last answer, so that an unchanged answer costs no body. When the API cannot be reached, the last data
// stays, with its time.
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

function report(error?: Error) {
  connection.error = error;
  if (!error) connection.at = new Date();
  for (const listener of listeners) listener();
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

export function useLive<T>(read: (signal: AbortSignal) => Promise<T>, depends: unknown[], every = interval): Live<T> {
  const [state, set] = useState<{ data?: T; error?: Error }>({});
  const again = useRef<() => void>(() => {});
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    let failures = 0;
    let text = "";
    set({});
    const ask = async () => {
      clearTimeout(timer);
      let wait = every;
      try {
        const data = await read(abort.signal);
        if (abort.signal.aborted) return;
        report();
        // Equal data is no news: nothing is drawn anew.
        const now = JSON.stringify(data);
        if (now !== text || failures > 0) set({ data });
        text = now;
        failures = 0;
      } catch (e) {
        if (abort.signal.aborted) return;
        const error = e as Error;
        report(error);
        set((old) => ({ ...old, error }));
        if (error instanceof SignInNeeded || (error instanceof ApiError && [401, 403, 404].includes(error.status))) return;
        failures++;
        wait = Math.min(every * 2 ** Math.min(failures, 5), Math.max(slowest, every));
        if (error instanceof ApiError) wait = Math.max(wait, error.retryAfter * 1000);
      }
      timer = window.setTimeout(ask, wait);
    };
    const seen = () => {
      if (document.visibilityState === "visible") void ask();
      else clearTimeout(timer);
    };
    again.current = () => void ask();
    document.addEventListener("visibilitychange", seen);
    void ask();
    return () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, depends);
  return { ...state, reload: () => again.current() };
}
