// Data that keeps up with the API: asked for again every second while the page is visible. When the API cannot
// be reached, the last data stays, with its time.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, Unreachable } from "./api/client";
import { SignInNeeded } from "./session";

export interface Live<T> {
  data?: T;
  /** Why data is not there, or no longer new. */
  error?: Error;
  reload(): void;
}

const interval = 1000;
const slowest = 30_000;

/** What is asked for repeatedly. */
interface Reader {
  ask(): void;
  /** Why the last answer is missing, if that is because of the connection. */
  error?: Error;
  failedAt: number;
}

const readers = new Set<Reader>();
const listeners = new Set<() => void>();

/** The state of the connection, for the header. It is lost while one of the readers gets no answer. */
export const connection: { at?: Date; error?: Error } = {};

/** An answer that refuses one request leaves the connection as it is. */
const ofConnection = (e: Error) => !(e instanceof ApiError) || e.status >= 500 || e.status === 401 || e.status === 429;

/** The answers after which asking again is in vain: with no right to read, or nothing there. */
const final = (e: Error) => e instanceof SignInNeeded || (e instanceof ApiError && [400, 401, 403, 404].includes(e.status));

function noteConnection() {
  const error = [...readers].find((r) => r.error)?.error;
  const changed = connection.error !== error;
  connection.error = error;
  if (!error) connection.at = new Date();
  if (changed) for (const listener of listeners) listener();
}

function noteAnswer(reader: Reader) {
  reader.error = undefined;
  noteConnection();
  // The API is back: what could not be read is asked for at once, also what is otherwise read rarely.
  for (const other of readers) if (other.error instanceof Unreachable && Date.now() - other.failedAt > interval) other.ask();
}

function noteError(reader: Reader, error: Error) {
  reader.error = ofConnection(error) ? error : undefined;
  reader.failedAt = Date.now();
  noteConnection();
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

/** Asks for everything at once, after a sign-in or a click on "Try again". */
export function askAgain() {
  for (const reader of readers) reader.ask();
}

/**
 * Calls ask now and then every so often while the page is visible; after errors more rarely. It ends when the
 * API says that it will not answer. The result of ask is whether the API has answered: some ask for nothing.
 */
export function useRepeated(ask: (signal: AbortSignal) => Promise<boolean>, onError: (error: Error) => void, depends: unknown[], every = interval): () => void {
  const again = useRef<() => void>(() => {});
  const latest = useRef({ ask, onError });
  latest.current = { ask, onError };
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
        const answered = await latest.current.ask(abort.signal);
        if (abort.signal.aborted) return;
        failures = 0;
        if (answered) noteAnswer(reader);
        if (asked) wait = 0;
      } catch (e) {
        if (abort.signal.aborted) return;
        const error = e as Error;
        noteError(reader, error);
        latest.current.onError(error);
        failures++;
        wait = Math.min(every * 2 ** Math.min(failures, 5), Math.max(slowest, every));
        if (error instanceof ApiError) wait = Math.max(wait, error.retryAfter * 1000);
        if (final(error)) return;
      } finally {
        asking = false;
        asked = false;
      }
      if (document.visibilityState === "visible") timer = window.setTimeout(turn, wait);
    };
    const reader: Reader = { ask: () => void turn(), failedAt: 0 };
    const seen = () => {
      if (document.visibilityState === "visible") void turn();
    };
    again.current = reader.ask;
    readers.add(reader);
    document.addEventListener("visibilitychange", seen);
    void turn();
    return () => {
      abort.abort();
      clearTimeout(timer);
      readers.delete(reader);
      if (reader.error) noteConnection();
      document.removeEventListener("visibilitychange", seen);
    };
  }, [...depends, every]);
  return () => again.current();
}

/** Whether two lists of values that a reader depends on are the same. */
export const sameValues = (a: unknown[] | undefined, b: unknown[]) => a !== undefined && a.every((v, n) => v === b[n]);

/** One answer of the API, kept up to date. A read that has nothing to ask for returns undefined. */
export function useLive<T>(read: (signal: AbortSignal) => Promise<T>, depends: unknown[], every?: number): Live<T> {
  const [state, set] = useState<{ of?: unknown[]; data?: T; error?: Error }>({});
  const text = useRef<string | undefined>("");
  const now = useRef(depends);
  now.current = depends;
  const reload = useRepeated(
    async (signal) => {
      const of = now.current;
      const data = await read(signal);
      if (signal.aborted) return false;
      // Equal data is no news: nothing is drawn anew.
      const is = JSON.stringify(data);
      const same = is === text.current;
      text.current = is;
      set((old) => (same && sameValues(old.of, of) && !old.error ? old : { of, data }));
      return data !== undefined;
    },
    (error) => set((old) => ({ of: now.current, data: sameValues(old.of, now.current) ? old.data : undefined, error })),
    depends, every);
  // The data of another object is not shown under this one's name.
  return sameValues(state.of, depends) ? { data: state.data, error: state.error, reload } : { reload };
}
