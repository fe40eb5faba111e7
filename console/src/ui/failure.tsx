import { useEffect } from "preact/hooks";
import { ApiError } from "../api/client";
import { askAgain } from "../live";
import { SignInNeeded } from "../session";
import { useShared } from "../shared";
import { lookForUpdate } from "../update";
import { Glyph } from "./glyph";
import { toastError } from "./toast";

/** What went wrong, and what to do. */
export function explain(error: unknown): { text: string; action?: "sign-in" | "retry" } {
  if (error instanceof SignInNeeded) return { text: error.message, action: "sign-in" };
  if (error instanceof ApiError) {
    if (error.status === 401) return { text: "The API does not accept your sign-in any more. Sign in again: this page keeps what you typed.", action: "sign-in" };
    if (error.status === 429) return { text: `${error.message} Wait ${error.retryAfter || 1} s; lists continue by themselves.`, action: "retry" };
    if (error.status === 412) return { text: `${error.message} Look at the new state, then do it again.`, action: "retry" };
    return { text: error.status >= 500 && error.traceId ? `${error.message} Trace ${error.traceId}.` : error.message, action: error.status >= 500 ? "retry" : undefined };
  }
  return { text: error instanceof Error ? error.message : String(error), action: "retry" };
}

/** An error above what it concerns, with the button that helps. */
export function ErrorBanner({ error, retry }: { error: unknown; retry?: () => void }) {
  const { session } = useShared();
  const { text, action } = explain(error);
  // The API refuses what an older page sends: it may have been updated since.
  const skew = error instanceof ApiError && error.status === 400;
  useEffect(() => { if (skew) lookForUpdate(); }, [skew]);
  return (
    <div class="notice fail" role="alert">
      <Glyph sign="fail" />
      <span class="wrap">{text}</span>
      {action === "sign-in" && <button type="button" class="button small" onClick={() => session.signIn().catch(toastError)}>Sign in</button>}
      {action === "retry" && <button type="button" class="button small" onClick={retry ?? askAgain}>Try again</button>}
    </div>
  );
}

/** Says that what is shown is no longer kept up to date, because the API refuses to tell more of it. */
export function Stale({ error }: { error?: Error }) {
  return error instanceof ApiError && (error.status === 403 || error.status === 404) ? <ErrorBanner error={error} /> : null;
}

/** A page that has nothing else to show. */
export function Failure({ title, error, retry, verb = "Try again" }: { title: string; error: unknown; retry?: () => void; verb?: string }) {
  return (
    <div class="failure" role="alert">
      <h1>{title}</h1>
      <p>{explain(error).text}</p>
      {retry && <button class="button" onClick={retry}>{verb}</button>}
    </div>
  );
}
