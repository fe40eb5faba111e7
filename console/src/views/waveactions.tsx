// What can be done to a wave: each action states its effect first, as the API foresees it.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { data, type Api, type Schema } from "../api/client";
import { useRequestKey } from "../requestkey";
import { useShared } from "../shared";
import { Confirm, Effect } from "../ui/dialog";
import { useLive } from "../live";
import { SelectField, TextField, useDraft } from "../ui/fields";
import { dayAndTime, fieldTime, inUTC, people, plural } from "../ui/text";
import { toast, toastError } from "../ui/toast";

type Preview = Schema<"ActionPreview">;
type Batch = Schema<"Batch">;

/** Which members a retry, a skip, a removal or a move is for, and what people call them. */
export interface Selection {
  phase?: string;
  step?: string;
  errorGroup?: string;
  memberIds?: number[];
  name: string;
}

export type WaveAction =
  | { do: "pause" | "resume" | "cancel" | "reschedule" | "details" | "check" }
  | { do: "advance"; phase: string }
  | { do: "approve"; phase: string; members: number }
  | { do: "retry" | "skip" | "remove" | "move"; of: Selection };

interface Props {
  batch: Batch;
  action: WaveAction;
  onClose(): void;
  /** Opens another dialog in place of this one. */
  instead(action: WaveAction): void;
  /** Called when the API has carried the action out. */
  done(): void;
}

export const waveName = (b: { name?: string; id: number }) => b.name || `Wave ${b.id}`;

/** The effect in an answer that has the object itself where it was no dry run. */
const foreseen = (answer: unknown) => (answer as Partial<Schema<"RepairResult">>).preview ?? (answer as Preview);

/** Whom an action is for, as the end of its name; nothing while that is not known, or if it is nobody. */
const forPeople = (p?: Preview) => (p && p.members > 0 ? ` for ${people(p.members)}` : "");

export async function pause(api: Api, b: Batch, reason?: string) {
  await data(api.POST("/batches/{id}/pause", { params: { path: { id: b.id } }, body: { reason } }));
}

export async function resume(api: Api, b: Batch, reason?: string) {
  await data(api.POST("/batches/{id}/resume", { params: { path: { id: b.id } }, body: { reason } }));
}

export function WaveDialog({ batch: b, action, onClose, instead, done }: Props) {
  const { api } = useShared();
  const params = { path: { id: b.id } };
  const name = waveName(b);
  const sub = <>{name} · {b.runbook} v{b.runbookVersion}{b.batchStartTime && <> · start {dayAndTime(b.batchStartTime)} ({inUTC(b.batchStartTime)})</>}</>;
  const then = (text: string, undo?: () => Promise<unknown>) => {
    done();
    toast(text, undo && (() => void undo().then(done, toastError)));
  };
  switch (action.do) {
    case "pause":
      return (
        <Confirm title={(p) => `Pause ${name}${forPeople(p)}?`} sub={sub} verb={(p) => `Pause the wave${forPeople(p)}`} reason="optional" onClose={onClose}
          preview={async () => foreseen(await data(api.POST("/batches/{id}/pause", { params, body: { dryRun: true } })))}
          act={async (reason) => { await pause(api, b, reason); then(`${name} is paused.`, () => resume(api, b)); }} />
      );
    case "resume":
      return (
        <Confirm title={(p) => `Resume ${name}${forPeople(p)}?`} sub={sub} verb={(p) => `Resume the wave${forPeople(p)}`} reason="optional" onClose={onClose}
          preview={async () => foreseen(await data(api.POST("/batches/{id}/resume", { params, body: { dryRun: true } })))}
          act={async (reason) => { await resume(api, b, reason); then(`${name} continues.`, () => pause(api, b)); }} />
      );
    case "advance":
      return (
        <Confirm title={(p) => `Start ${action.phase}${forPeople(p)}?`} sub={sub} verb={(p) => `Start ${action.phase}${forPeople(p)}`} onClose={onClose}
          preview={async () => foreseen(await data(api.POST("/batches/{id}/advance", { params, body: { phase: action.phase, dryRun: true } })))}
          act={async () => { await data(api.POST("/batches/{id}/advance", { params, body: { phase: action.phase } })); then(`${action.phase} of ${name} has started.`); }} />
      );
    case "approve":
      return (
        <Confirm title={`Approve ${action.phase} for ${people(action.members)}?`} sub={sub} verb={`Approve ${action.phase} for ${people(action.members)}`} reason="optional" onClose={onClose}
          preview={async () => foreseen(await data(api.POST("/batches/{id}/approve", { params, body: { phase: action.phase, dryRun: true } })))}
          act={async (reason) => { await data(api.POST("/batches/{id}/approve", { params, body: { phase: action.phase, reason } })); then(`${action.phase} of ${name} is approved.`); }} />
      );
    case "cancel":
      return (
        <Confirm title={`Cancel ${name}?`} sub="A cancelled wave is over: it cannot be resumed." danger keep="Keep the wave" type={name} reason="optional" onClose={onClose}
          verb={(p) => `Cancel the wave${forPeople(p)}`}
          preview={async () => foreseen(await data(api.POST("/batches/{id}/cancel", { params, body: { dryRun: true } })))}
          act={async (reason) => { await data(api.POST("/batches/{id}/cancel", { params, body: { reason } })); then(`${name} is cancelled.`); }}>
          {!b.paused && <p class="aside">To stop temporarily, pause the wave. <button type="button" class="link" onClick={() => instead({ do: "pause" })}>Pause instead…</button></p>}
        </Confirm>
      );
    case "reschedule":
      return <Reschedule batch={b} onClose={onClose} done={(text) => then(text)} />;
    case "details":
      return <Details batch={b} onClose={onClose} done={() => then(`${name} is changed.`)} />;
    case "check":
      return (
        <Confirm title={`Check ${people(b.memberCount - (b.removedCount ?? 0))}?`} sub="The checks of the runbook only read. Their results replace the earlier ones; who failed in them is retried." verb="Check the people" reason="optional" onClose={onClose}
          act={async (reason) => { const r = (await data(api.POST("/batches/{id}/check", { params, body: { reason } }))) as Schema<"CheckResult">; then(`${plural(r.checks.length, "check")} of ${people(r.members)} started.`); }} />
      );
    case "move":
      return <Move batch={b} of={action.of} onClose={onClose} done={then} />;
    case "retry":
    case "skip":
    case "remove":
      return <Repair batch={b} what={action.do} of={action.of} onClose={onClose} done={then} />;
  }
}

const verbs = { retry: "Retry", skip: "Skip the step for", remove: "Remove", move: "Move" };
const progress = { retry: "Retrying", skip: "Skipping the step of", remove: "Removing", move: "Moving" };

/** A retry, skip, removal or move of many members. It goes on in the background. */
export function Repair({ batch: b, what, of, from, to, ready, fields, onClose, done }: {
  batch: { id: number }; what: keyof typeof verbs; of: Selection; from?: string; to?: number; ready?: boolean; fields?: ComponentChildren; onClose(): void; done(text: string): void;
}) {
  const { api } = useShared();
  const keyOf = useRequestKey();
  const [result, setResult] = useState<Schema<"RepairResult">>();
  const { name, ...selection } = of;
  const send = (more: { dryRun?: boolean; reason?: string }) => {
    const params = { path: { id: b.id }, header: more.dryRun ? {} : { "Idempotency-Key": keyOf({ from, to, ...more }) } };
    switch (what) {
      case "retry":
        return data(api.POST("/batches/{id}/retry", { params, body: { ...selection, from, ...more } }));
      case "skip":
        return data(api.POST("/batches/{id}/skip", { params, body: { ...selection, ...more } }));
      case "remove":
        return data(api.POST("/batches/{id}/remove", { params, body: { memberIds: selection.memberIds, ...more } }));
      case "move":
        return data(api.POST("/batches/{id}/move", { params, body: { memberIds: selection.memberIds, toBatchId: to!, ...more } }));
    }
  };
  const effect = result?.effect;
  const verb = (p?: Preview) => `${verbs[what]} ${p ? people(p.members) : "people"}`;
  return (
    <Confirm title={(p) => `${verb(p)}?`} sub={name} verb={verb} danger={what === "remove"} reason={what === "retry" ? "optional" : "required"} ready={ready} fields={fields} depends={[from, to]} onClose={onClose}
      preview={async () => {
        const r = await send({ dryRun: true });
        setResult(r);
        return r.preview;
      }}
      act={async (reason) => {
        const r = await send({ reason });
        done(`${progress[what]} ${people(r.preview?.members ?? r.effect.members)}.`);
      }}>
      {effect && (effect.groups.length > 0 || effect.refusedCount > 0) && (
        <dl class="effects">
          {effect.groups.map((g) => (
            <Effect key={`${g.phase}/${g.step}/${g.errorGroup}`} sign="retry" name={g.phase}>
              {g.members > 0 && `${people(g.members)}: `}{g.from ? <>continue at <b>{g.from}</b>, {plural(g.steps, "step")} left</> : "nothing is left in the phase"}{g.then.length > 0 && `, then ${g.then.join(", ")}`}
              {g.version !== g.failedVersion && <span class="sub">By version {g.version} instead of {g.failedVersion}</span>}
            </Effect>
          ))}
          {effect.refusedCount > 0 && <Effect sign="warning" name="Left as they are" warn><b>{people(effect.refusedCount)}</b>{effect.refused.slice(0, 3).map((r) => <span class="sub" key={r.memberId}>{r.memberDisplay ?? r.memberKey}: {r.reason}</span>)}</Effect>}
        </dl>
      )}
    </Confirm>
  );
}

/** Moves members to another wave of the same runbook. */
export function Move({ batch: b, of, onClose, done }: { batch: Pick<Batch, "id" | "runbook">; of: Selection; onClose(): void; done(text: string): void }) {
  const { api } = useShared();
  const [to, setTo] = useState("");
  const open = useLive(() => data(api.GET("/batches", { params: { query: { runbook: b.runbook, status: ["detected", "init_dispatched", "active"], limit: 200 } } })), [b.runbook], 30_000);
  const others = open.data?.items.filter((o) => o.id !== b.id) ?? [];
  const nothing = open.data && others.length === 0 ? `No other wave of ${b.runbook} is open. Make one first.` : undefined;
  return (
    <Repair batch={b} what="move" of={of} to={Number(to)} ready={to !== ""} onClose={onClose} done={done}
      fields={<SelectField label="To the wave" value={to} onValue={setTo} hint={nothing ?? "They keep their data, finished phases and outputs, and do the other phases there."}
        options={[["", open.data ? "Choose a wave" : "Loading…"], ...others.map((o) => [String(o.id), `${waveName(o)}${o.batchStartTime ? `, start ${dayAndTime(o.batchStartTime)}` : ""}`] as const)]} />} />
  );
}

function Reschedule({ batch: b, onClose, done }: { batch: Batch; onClose(): void; done(text: string): void }) {
  const { api } = useShared();
  const before = b.batchStartTime ? fieldTime(b.batchStartTime) : "";
  const [at, setAt] = useDraft(`start:${b.id}`, before);
  const [result, setResult] = useState<Schema<"RescheduleResult">>();
  const start = at ? new Date(at).toISOString() : "";
  const ready = at !== "" && at !== before;
  const params = { path: { id: b.id } };
  return (
    <Confirm title={`Reschedule ${waveName(b)}?`} sub={b.batchStartTime && <>The start is {dayAndTime(b.batchStartTime)} ({inUTC(b.batchStartTime)}).</>} reason="optional" depends={[start]} ready={ready} onClose={() => { setAt(before); onClose(); }}
      verb={(p) => (p ? `Move the start for ${people(p.members)}` : "Move the start")}
      fields={<TextField label="New start, in your local time" type="datetime-local" value={at} onValue={setAt} required hint={at ? `${dayAndTime(start)}, ${inUTC(start)}` : undefined} />}
      preview={async () => {
        const r = await data(api.POST("/batches/{id}/reschedule", { params, body: { batchStartTime: start, dryRun: true } }));
        setResult(r);
        return r.preview;
      }}
      act={async (reason) => {
        await data(api.POST("/batches/{id}/reschedule", { params, body: { batchStartTime: start, reason } }));
        done(`${waveName(b)} starts ${dayAndTime(start)}.`);
      }}>
      {ready && result && result.phases.length > 0 && (
        <table class="compact">
          <thead><tr><th>Phase</th><th>Was due</th><th>Is due</th></tr></thead>
          <tbody>{result.phases.map((p) => <tr key={p.phaseId}><td>{p.phase}</td><td class="quiet">{dayAndTime(p.from)}</td><td>{p.due ? <b class="k-warn">at once</b> : dayAndTime(p.to)}{p.quietUntil && <span class="sub">quiet hours until {dayAndTime(p.quietUntil)}</span>}</td></tr>)}</tbody>
        </table>
      )}
    </Confirm>
  );
}

function Details({ batch: b, onClose, done }: { batch: Batch; onClose(): void; done(): void }) {
  const { api } = useShared();
  const [name, setName] = useDraft(`details:${b.id}:name`, b.name);
  const [owner, setOwner] = useDraft(`details:${b.id}:owner`, b.owner);
  const [note, setNote] = useDraft(`details:${b.id}:note`, b.note);
  const discard = () => {
    setName(b.name ?? "");
    setOwner(b.owner ?? "");
    setNote(b.note ?? "");
  };
  const changed = name !== (b.name ?? "") || owner !== (b.owner ?? "") || note !== (b.note ?? "");
  return (
    <Confirm title={`Change the name, owner or note of ${waveName(b)}`} verb="Change" ready={changed} reason="optional" onClose={() => { discard(); onClose(); }}
      fields={<>
        <TextField label="Name" value={name} onValue={setName} maxLength={100} autocomplete="off" />
        <TextField label="Owner" value={owner} onValue={setOwner} maxLength={200} autocomplete="off" />
        <TextField label="Note" value={note} onValue={setNote} maxLength={1000} rows={3} />
      </>}
      act={async (reason) => {
        const changes = { ...(name !== (b.name ?? "") && { name }), ...(owner !== (b.owner ?? "") && { owner }), ...(note !== (b.note ?? "") && { note }) };
        await data(api.PATCH("/batches/{id}", { params: { path: { id: b.id } }, body: { ...changes, reason } }));
        done();
      }} />
  );
}
