import { useEffect, useRef, useState } from "preact/hooks";
import { explain } from "./failure";

interface Props {
  title: string;
  onClose(): void;
  children: preact.ComponentChildren;
}

/** A modal dialog. Esc closes it; focus returns to where it was. */
export function Dialog({ title, onClose, children }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    element.current!.showModal();
    return () => before?.focus();
  }, []);
  return (
    <dialog ref={element} aria-labelledby="dialog-title" onClose={onClose}>
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  /** A question with the number of people. */
  title: string;
  /** The verb and the number: "Retry 12 people". */
  verb: string;
  danger?: boolean;
  /** Whether the action wants a reason. */
  reason?: "optional" | "required";
  /** The text to type before an action that cannot be taken back. */
  type?: string;
  children?: preact.ComponentChildren;
  act(reason: string): Promise<unknown>;
  onClose(): void;
}

/** States the effect of an action, asks for its reason, and carries it out. */
export function Confirm({ title, verb, danger, reason, type, children, act, onClose }: ConfirmProps) {
  const [why, setWhy] = useDraft(`reason:${title}`);
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const ready = !busy && (!type || typed === type) && (reason !== "required" || why.trim() !== "");
  const submit = async (e: Event) => {
    e.preventDefault();
    if (!ready) return;
    setBusy(true);
    setError(undefined);
    try {
      await act(why.trim());
      setWhy("");
      onClose();
    } catch (e) {
      setError(e);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        {children}
        {reason && (
          <label class="field">
            Reason {reason === "optional" && <small>Optional. It is kept in the audit record.</small>}
            <input value={why} onInput={(e) => setWhy(e.currentTarget.value)} maxLength={1000} required={reason === "required"} />
          </label>
        )}
        {type && (
          <label class="field">
            Type {type} to confirm
            <input value={typed} onInput={(e) => setTyped(e.currentTarget.value)} autocomplete="off" />
          </label>
        )}
        {error !== undefined && <p class="notice fail" role="alert">{explain(error).text}</p>}
        <div class="buttons">
          <button type="button" class="button" onClick={onClose}>Go back</button>
          <button type="submit" class={`button ${danger ? "danger" : "primary"}`} disabled={!ready}>{busy ? "Working" : verb}</button>
        </div>
      </form>
    </Dialog>
  );
}

/** Text that outlives a reload of the page, as when the user has to sign in again. */
export function useDraft(key: string): [string, (text: string) => void] {
  const name = `matoolkit:draft:${key}`;
  const [text, set] = useState(() => sessionStorage.getItem(name) ?? "");
  return [text, (now) => {
    set(now);
    now ? sessionStorage.setItem(name, now) : sessionStorage.removeItem(name);
  }];
}
