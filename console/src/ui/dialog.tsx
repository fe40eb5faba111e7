import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Schema } from "../api/client";
import { useDraft, TextField } from "./fields";
import { ErrorBanner } from "./failure";
import { Glyph, type Sign } from "./glyph";
import { dayAndTime, duration, people, plural, when } from "./text";
import { toastError } from "./toast";

/** A modal dialog, or a sheet at the bottom of the screen. Esc closes it, unless it is busy; the focus returns to where it was. */
export function Dialog({ title, sub, wide, sheet, busy, onClose, children }: { title: string; sub?: ComponentChildren; wide?: boolean; sheet?: boolean; busy?: boolean; onClose(): void; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  const gone = useRef(false);
  useEffect(() => {
    const dialog = element.current!;
    const before = document.activeElement;
    dialog.showModal();
    return () => {
      gone.current = true;
      // After Esc the browser has returned the focus, and it can be elsewhere by now.
      const lost = document.activeElement === document.body || dialog.contains(document.activeElement);
      dialog.close(); // while it is open, nothing else takes the focus
      if (lost && before instanceof HTMLElement && before.isConnected) before.focus();
      if (document.activeElement === document.body) document.getElementById("content")?.focus({ preventScroll: true });
    };
  }, []);
  // Esc closes at once, not with the close event: that one comes later, and would close what was opened in the meantime.
  const cancel = (e: Event) => {
    if (e.target !== element.current) return; // of a field for a file
    e.preventDefault();
    if (!busy) onClose();
  };
  return (
    <dialog ref={element} class={wide ? "wide-dialog" : sheet ? "sheet" : ""} aria-labelledby="dialog-title" onCancel={cancel} onClose={() => { if (!gone.current) onClose(); }}>
      <h2 id="dialog-title">{title}</h2>
      {sub && <p class="dialog-sub">{sub}</p>}
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  /** A question, with the number of people if the preview tells it. */
  title: string | ((p?: Schema<"ActionPreview">) => string);
  sub?: ComponentChildren;
  /** The verb and the number: "Retry 12 people". */
  verb: string | ((p?: Schema<"ActionPreview">) => string);
  /** What leaves everything as it is. */
  keep?: string;
  danger?: boolean;
  /** Asks the API for the effect, as a dry run. Without it the children state the effect. */
  preview?: () => Promise<Schema<"ActionPreview"> | undefined>;
  /** Values that the preview depends on. */
  depends?: unknown[];
  /** Whether the action wants a reason; none if it takes none. */
  reason?: "optional" | "required";
  /** The text to type before an action that cannot be taken back. */
  type?: string;
  /** Whether the fields in children are complete. */
  ready?: boolean;
  /** Further fields, above the effect. */
  fields?: ComponentChildren;
  children?: ComponentChildren;
  act(reason: string | undefined): Promise<unknown>;
  onClose(): void;
}

/** States the effect of an action, asks for its reason, and carries it out. */
export function Confirm({ title, sub, verb, keep = "Not now", danger, preview, depends = [], reason, type, ready = true, fields, children, act, onClose }: ConfirmProps) {
  const [effect, setEffect] = useState<{ is?: Schema<"ActionPreview">; error?: unknown; loading: boolean }>({ loading: preview !== undefined });
  const [tried, again] = useState(0);
  const question = typeof title === "string" ? title : title(effect.is);
  // The reason belongs to what it was typed for.
  const [why, setWhy] = useDraft(`reason:${location.pathname}:${typeof title === "string" ? title : title()}:${typeof sub === "string" ? sub : ""}`);
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const closed = useRef(false);
  useEffect(() => () => { closed.current = true; }, []);
  const fits = ready && effect.error === undefined && !effect.loading && (!type || typed.trim() === type) && (reason !== "required" || why.trim() !== "");
  useEffect(() => {
    if (!preview || !ready) return;
    let left = false;
    setEffect((old) => ({ is: old.is, loading: true }));
    const timer = setTimeout(() => preview().then((is) => !left && setEffect({ is, loading: false }), (e: unknown) => !left && setEffect({ error: e, loading: false })), tried || effect.is ? 200 : 0);
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [...depends, ready, tried]);
  const submit = async (e: Event) => {
    e.preventDefault();
    if (!fits || busy) return;
    setBusy(true);
    setError(undefined);
    try {
      await act(why.trim() || undefined);
      setWhy("");
      onClose();
    } catch (e) {
      if (closed.current) toastError(e); // what the dialog is about has gone
      setError(e);
      setBusy(false);
    }
  };
  return (
    <Dialog title={question} sub={sub} busy={busy} onClose={onClose}>
      <form onSubmit={submit}>
        {fields}
        {effect.error !== undefined && ready && <ErrorBanner error={effect.error} retry={() => again(tried + 1)} />}
        {preview && ready && effect.error === undefined && <Effects of={effect.is} />}
        {children}
        {reason && <TextField label={reason === "required" ? "Reason, kept in the activity" : "Reason, kept in the activity (optional)"} value={why} onValue={setWhy} maxLength={1000} required={reason === "required"} autocomplete="off" />}
        {type && <TextField label={`Type ${type} to confirm`} value={typed} onValue={setTyped} autocomplete="off" />}
        {error !== undefined && <ErrorBanner error={error} retry={() => setError(undefined)} />}
        <div class="buttons">
          <button type="button" class="button" aria-disabled={busy || undefined} onClick={() => busy || onClose()}>{keep}</button>
          <button type="submit" class={`button ${danger ? "danger" : "primary"}`} aria-disabled={!fits || busy || undefined}>{busy ? "Working…" : typeof verb === "string" ? verb : verb(effect.is)}</button>
        </div>
      </form>
    </Dialog>
  );
}

const words: Record<Schema<"PhasePreview">["effect"], string> = { starts: "starts", continues: "continues", pauses: "pauses", stops: "stops", cancels: "never starts", moves: "moves", joins: "gets them" };

/** The effect of an action, as the API foresees it. */
export function Effects({ of: p }: { of?: Schema<"ActionPreview"> }) {
  if (!p) return <div class="skeleton effects-room" aria-busy="true" />;
  return (
    <dl class="effects">
      <Effect sign="people" name="People"><b>{p.members.toLocaleString()}</b>{p.members === 0 && p.phases.length === 0 && ": nothing starts or stops now"}</Effect>
      <Effect sign="jobs" name="Jobs"><b>{p.jobs.toLocaleString()}</b>{p.jobs > 0 && " at most, without polls and retries"}{p.jobsInFlight > 0 && <span class="sub">{plural(p.jobsInFlight, "job")} of the wave {p.jobsInFlight === 1 ? "is" : "are"} at workers or queued now</span>}</Effect>
      {p.phases.length > 0 && (
        <Effect sign="due" name={p.phases.length === 1 ? "Phase" : "Phases"}>
          {p.phases.map((f) => <div key={f.phase}><b>{f.phase}</b> {words[f.effect]}{f.members > 0 && ` for ${people(f.members)}`}{f.dueAt && <span class="quiet">, due {dayAndTime(f.dueAt)}</span>}</div>)}
        </Effect>
      )}
      {p.duration && <Effect sign="wait" name="Duration"><b>{p.duration.seconds === 0 ? "Less than a second" : `About ${duration(p.duration.seconds * 1000)}`}</b>, until {when(new Date(Date.now() + p.duration.seconds * 1000))}<span class="sub">As measured in {p.duration.batchIds.map((id) => `wave ${id}`).join(", ")}</span></Effect>}
      {p.warnings?.map((w) => <Effect key={w} sign="warning" name="Warning" warn>{w}</Effect>)}
      <Effect sign="undo" name="Way back">{p.wayBack}</Effect>
    </dl>
  );
}

export function Effect({ sign, name, warn, children }: { sign: Sign; name: string; warn?: boolean; children: ComponentChildren }) {
  return <div class={warn ? "warn" : ""}><dt><Glyph sign={sign} />{name}</dt><dd>{children}</dd></div>;
}
