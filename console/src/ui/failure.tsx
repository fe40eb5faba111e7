import { ApiError } from "../api/client";
import { askAgain } from "../live";
import { SignInNeeded } from "../session";
import { useShared } from "../shared";
import { Glyph } from "./glyph";

/** What went wrong, and what to do. */
export function explain(error: unknown): { text: string; action?: "sign-in" | "retry" | "reload" } {
  if (error instanceof SignInNeeded) return { text: error.message, action: "sign-in" };
  if (error instanceof ApiError) {
    if (error.status === 401) return { text: "The API does not accept your sign-in any more. Sign in again: this page keeps what you typed.", action: "sign-in" };
    if (error.status === 429) return { text: `${error.message} Wait ${error.retryAfter || 1} s; lists continue by themselves.`, action: "retry" };
    if (error.status === 400) return { text: `${error.message} If the handler was updated, reload the page: it keeps what you typed.`, action: "reload" };
    if (error.status === 412) return { text: `${error.message} Look at the new state, then do it again.`, action: "retry" };
    return { text: error.status >= 500 && error.traceId ? `${error.message} Trace ${error.traceId}.` : error.message, action: error.status >= 500 ? "retry" : undefined };
  }
  if (error instanceof TypeError) return { text: "The API cannot be reached. Check the network; the page asks again by itself, and keeps what you typed.", action: "retry" };
  return { text: error instanceof Error ? error.message : String(error), action: "retry" };
}

/** An error above what it concerns, with the button that helps. */
export function ErrorBanner({ error, retry }: { error: unknown; retry?: () => void }) {
  const { session } = useShared();
  const { text, action } = explain(error);
  return (
    <div class="notice fail" role="alert">
      <Glyph sign="fail" />
      <span class="wrap">{text}</span>
      {action === "sign-in" && <button type="button" class="button small" onClick={() => session.signIn()}>Sign in</button>}
      {action === "retry" && <button type="button" class="button small" onClick={retry ?? askAgain}>Try again</button>}
      {action === "reload" && <button type="button" class="button small" onClick={() => location.reload()}>Reload</button>}
    </div>
  );
}

/** A page that has nothing else to show. */
export function Failure({ title, error, retry }: { title: string; error: unknown; retry?: () => void }) {
  return (
    <div class="failure" role="alert">
      <h1>{title}</h1>
      <p>{explain(error).text}</p>
      {retry && <button class="button" onClick={retry}>Try again</button>}
    </div>
  );
}
