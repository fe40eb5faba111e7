// The data of a person, and its correction.
import { useEffect, useRef, useState } from "preact/hooks";
import { data, type Schema } from "../api/client";
import { useShared, type Permit } from "../shared";
import { ActionButton } from "../ui/action";
import { ErrorBanner, explain } from "../ui/failure";
import { TextField, useDraft } from "../ui/fields";
import { Glyph } from "../ui/glyph";
import { plural, secret, value } from "../ui/text";
import { toast, toastError } from "../ui/toast";

type Member = Schema<"Member">;

interface Props {
  batch: number;
  member: Member;
  permit: Permit;
  retry: Permit;
  done(text: string): void;
}

export function Correct({ batch, member: m, permit, retry, done }: Props) {
  const { api } = useShared();
  const draft = `correct:${batch}/${m.id}`;
  const [kept, keep] = useDraft(draft);
  const edits = kept ? (JSON.parse(kept) as Record<string, string>) : {};
  const [reason, setReason] = useDraft(`${draft}:reason`);
  const [editing, setEditing] = useState(kept !== "");
  const [busy, setBusy] = useState("");
  const [error, setError] = useState<unknown>();
  const columns = Object.entries(m.data).filter(([name]) => name !== "");
  const changes = Object.fromEntries(Object.entries(edits).filter(([name, text]) => name in m.data && text !== value(m.data[name])));
  const changed = Object.keys(changes).length;
  const effect = useRetryEffect(batch, m, editing && changed > 0 && retry.allowed);

  const set = (name: string, text: string) => {
    const next = { ...edits, [name]: text };
    if (text === value(m.data[name])) delete next[name];
    keep(Object.keys(next).length ? JSON.stringify(next) : "");
  };
  const discard = () => {
    keep("");
    setReason("");
    setEditing(false);
    setError(undefined);
  };
  const why = reason.trim() || undefined;
  const correct = async () => {
    const path = { id: batch, member: `id:${m.id}` };
    const answer = await data(api.PATCH("/batches/{id}/members/{member}", { params: { path, header: m.etag ? { "If-Match": `"${m.etag}"` } : {} }, body: { data: changes, reason: why } }));
    discard();
    done(`${plural(changed, "column")} corrected.`);
    if (answer.inFlight?.length) toast(`${answer.inFlight[0]!.step} still runs with the values from before.`);
  };
  const retryNow = async () => {
    try {
      await data(api.POST("/batches/{id}/retry", { params: { path: { id: batch } }, body: { memberIds: [m.id], reason: why } }));
      done("The person starts again.");
    } catch (e) {
      toastError(new Error(`The data is corrected, but the person does not start again: ${explain(e).text} Press “Retry…”.`));
    }
  };
  const save = async (andRetry: boolean) => {
    setBusy(andRetry ? "retry" : "save");
    setError(undefined);
    try {
      await correct();
      if (andRetry) await retryNow();
    } catch (e) {
      setError(e);
    }
    setBusy("");
  };

  return (
    <section class="data-panel" aria-labelledby="data">
      <header><h2 id="data">Data</h2>{!editing && <ActionButton small permit={permit} onClick={() => setEditing(true)}><Glyph sign="edit" /> Correct…</ActionButton>}</header>
      {!editing && (
        <dl class="columns">
          {columns.map(([name, v]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{v === secret ? <span class="secret">secret, not shown</span> : value(v) || <span class="quiet">empty</span>}{m.overrides?.[name] && <span class="sub">Corrected by {m.overrides[name].by}; the source has {value(m.overrides[name].sourceValue) || "no value"}</span>}</dd>
            </div>
          ))}
        </dl>
      )}
      {editing && (
        <form onSubmit={(e) => { e.preventDefault(); if (changed > 0 && !busy) void save(retry.allowed); }}>
          {columns.filter(([name]) => value(m.data[name]) !== m.memberKey).map(([name, v]) => (
            <TextField key={name} label={name} value={edits[name] ?? (v === secret ? "" : value(v))} onValue={(text) => set(name, text)} autocomplete="off" spellcheck={false}
              placeholder={v === secret ? "secret, not shown" : undefined} hint={name in changes ? <>was <s>{v === secret ? "a secret" : value(v) || "empty"}</s></> : undefined} />
          ))}
          <TextField label="Reason, kept in the activity (optional)" value={reason} onValue={setReason} maxLength={1000} autocomplete="off" />
          {effect && <p class="aside"><Glyph sign="undo" /><span>Starts again at <b>{effect.from || "the next phase"}</b>. 1 person, {plural(effect.steps, "job")} at most.</span></p>}
          {error !== undefined && <ErrorBanner error={error} retry={() => setError(undefined)} />}
          <div class="buttons">
            {retry.allowed && <button type="button" class="button primary" aria-disabled={changed === 0 || busy !== "" || undefined} onClick={() => { if (changed > 0 && !busy) void save(true); }}>{busy === "retry" ? "Working…" : "Correct and retry"}</button>}
            <button type="button" class={`button ${retry.allowed ? "" : "primary"}`} aria-disabled={changed === 0 || busy !== "" || undefined} onClick={() => { if (changed > 0 && !busy) void save(false); }}>{busy === "save" ? "Working…" : retry.allowed ? "Only save" : "Save"}</button>
            <button type="button" class="button plain" onClick={discard}>Discard</button>
          </div>
        </form>
      )}
      {m.workerData && Object.keys(m.workerData).length > 0 && (
        <>
          <h3 class="data-panel-more">Outputs of steps</h3>
          <dl class="columns">{Object.entries(m.workerData).map(([name, v]) => <div key={name}><dt>{name}</dt><dd>{v === secret ? <span class="secret">secret, not shown</span> : value(v)}</dd></div>)}</dl>
        </>
      )}
    </section>
  );
}

/** Where a retry of the person would start, as the API foresees it. */
function useRetryEffect(batch: number, m: Member, wanted: boolean) {
  const { api } = useShared();
  const [effect, set] = useState<{ from: string; steps: number }>();
  const asked = useRef("");
  useEffect(() => {
    if (!wanted || asked.current === `${batch}/${m.id}`) return;
    asked.current = `${batch}/${m.id}`;
    data(api.POST("/batches/{id}/retry", { params: { path: { id: batch } }, body: { memberIds: [m.id], dryRun: true } })).then((r) => set(r.effect.groups[0]), () => {});
  }, [wanted]);
  return wanted ? effect : undefined;
}
