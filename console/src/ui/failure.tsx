import { ApiError } from "../api/client";
import { SignInNeeded } from "../session";

/** What went wrong, and what to do. */
export function explain(error: unknown): { text: string; action?: "sign-in" | "retry" } {
  if (error instanceof SignInNeeded) return { text: error.message, action: "sign-in" };
  if (error instanceof ApiError) {
    const trace = error.traceId && error.status >= 500 ? ` Trace ${error.traceId}.` : "";
    if (error.status === 429) return { text: `${error.message} The page asks again by itself.` };
    return { text: error.message + trace, action: error.status >= 500 ? "retry" : undefined };
  }
  if (error instanceof TypeError) return { text: "The API cannot be reached. Check the network; the page asks again by itself.", action: "retry" };
  return { text: error instanceof Error ? error.message : String(error), action: "retry" };
}

export function Failure({ title, error, retry }: { title: string; error: unknown; retry?: () => void }) {
  const { text } = explain(error);
  return (
    <div class="failure" role="alert">
      <h1>{title}</h1>
      <p>{text}</p>
      {retry && <button class="button" onClick={retry}>Try again</button>}
    </div>
  );
}
