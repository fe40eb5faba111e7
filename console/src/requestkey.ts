// Idempotency keys of requests that are sent again after a lost answer.
import { useRef } from "preact/hooks";

/** The key of a request by its content: the same for each try, another one for other content. */
export function useRequestKey(): (content: unknown) => string {
  const last = useRef({ content: "", key: "" });
  return (content) => {
    const now = JSON.stringify(content);
    if (last.current.content !== now) last.current = { content: now, key: crypto.randomUUID() };
    return last.current.key;
  };
}
