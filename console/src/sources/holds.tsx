// Removals and additions that wait for a decision, with the names of the people.
import { useState } from "preact/hooks";
import { data, type Schema } from "../api/client";
import { useLive } from "../live";
import { href } from "../router";
import { permit, usePermit, useShared, type Permit } from "../shared";
import { ActionButton } from "../ui/action";
import { Confirm, Effect } from "../ui/dialog";
import { ErrorBanner } from "../ui/failure";
import { Glyph } from "../ui/glyph";
import { dayAndTime, people, plural, sentence } from "../ui/text";
import { Time } from "../ui/time";
import { toast } from "../ui/toast";
import { lookOf, memberLooks, Status } from "../ui/status";

type Decision = "confirm" | "discard" | "move";

/** Members whom the source no longer lists in their wave. */
export function RemovalHold({ hold: h, open, onDecided }: { hold: Schema<"RemovalHoldSummary">; open: boolean; onDecided(): void }) {
  const { api } = useShared();
  const path = { id: h.batchId };
  const [shown, show] = useState(open);
  const [decision, decide] = useState<Decision>();
  const batch = useLive(() => data(api.GET("/batches/{id}", { params: { path } })), [h.batchId], 1500);
  const names = useLive(async () => (shown || decision ? data(api.GET("/batches/{id}/removals", { params: { path, query: { limit: 1000 } } })) : undefined), [h.batchId, shown, decision !== undefined, h.memberCount, h.since], 5000);
  const actions = batch.data?.actions;
  const may = (name: "confirm_removals" | "discard_removals" | "move_members"): Permit => (actions ? permit(actions, name) : { allowed: false });
  const title = batch.data?.name || `Wave ${h.batchId}`;
  const revision = names.data?.revision;
  const count = names.data?.memberCount ?? h.memberCount;
  const body = (dryRun: boolean, reason?: string) => ({ params: { path }, body: { dryRun, reason, revision } });
  const send = async (which: Decision, dryRun: boolean, reason?: string) => {
    switch (which) {
      case "confirm": return (await data(api.POST("/batches/{id}/removals/confirm", body(dryRun, reason)))) as Schema<"ActionPreview">;
      case "move": return (await data(api.POST("/batches/{id}/removals/move", body(dryRun, reason)))) as Schema<"ActionPreview">;
      case "discard": return (await data(api.POST("/batches/{id}/removals/discard", body(dryRun, reason)))) as Schema<"ActionPreview">;
    }
  };
  const texts: Record<Decision, { title: string; verb: string; keep: string; done: string; note: string }> = {
    confirm: { title: `Remove ${people(count)} from ${title}?`, verb: `Remove ${people(count)}`, keep: "Keep them held", done: `Confirmed the removal of ${people(count)}`, note: "Their pending steps are cancelled, and the steps of on_member_removed run." },
    discard: { title: `Keep ${people(count)} in ${title}?`, verb: `Keep ${people(count)}`, keep: "Keep them held", done: `Kept ${people(count)} in ${title}`, note: "Their removal is not held again until the source has listed them again." },
    move: { title: `Move ${people(h.movingCount ?? count)} to ${h.movesTo ? dayAndTime(h.movesTo) : "their new start"}?`, verb: `Move ${people(h.movingCount ?? count)}`, keep: "Keep them held", done: `Moving ${people(h.movingCount ?? count)}`, note: "They keep their outputs, and do not repeat the phases that they have finished." },
  };
  return (
    <article class="hold">
      <div class="hold-head">
        <Glyph sign="hold" kind="warn" />
        <div>
          <h3><a href={href("waves", h.batchId)}>{title}</a>: {people(h.memberCount)} of {h.activeCount.toLocaleString()} {h.movingCount ? "are gone or have another start" : "are gone from the list"}</h3>
          <p class="quiet">{sentence(h.reason)} Held since <Time at={h.since} />.</p>
          {h.confirmed && <p class="k-done"><Glyph sign="done" /> {h.move ? "Moved" : "Confirmed"} by {h.confirmed.by} <Time at={h.confirmed.at} />{h.confirmed.reason && `: ${h.confirmed.reason}`}</p>}
        </div>
        {!h.confirmed && (
          <div class="actions">
            {h.movingCount !== undefined && <ActionButton permit={may("move_members")} onClick={() => decide("move")}>Move {people(h.movingCount)}…</ActionButton>}
            <ActionButton permit={may("discard_removals")} onClick={() => decide("discard")}>Discard: keep {people(h.memberCount)}…</ActionButton>
            <ActionButton kind="danger" permit={may("confirm_removals")} onClick={() => decide("confirm")}>Remove {people(h.memberCount)}…</ActionButton>
          </div>
        )}
      </div>
      <details open={shown} onToggle={(e) => show(e.currentTarget.open)}>
        <summary>Names</summary>
        {names.error && <ErrorBanner error={names.error} retry={names.reload} />}
        {shown && !names.data && !names.error && <div class="skeleton" aria-busy="true" />}
        {names.data && <Names items={names.data.items} batch={h.batchId} more={names.data.memberCount - names.data.items.length} />}
      </details>
      {decision && (
        <Confirm title={texts[decision].title} sub={texts[decision].note} verb={texts[decision].verb} keep={texts[decision].keep} danger={decision === "confirm"} reason="optional" ready={revision !== undefined} depends={[decision, revision]}
          preview={() => send(decision, true)}
          act={async (reason) => {
            await send(decision, false, reason);
            toast(texts[decision].done);
            onDecided();
          }} onClose={() => decide(undefined)} />
      )}
    </article>
  );
}

function Names({ items, batch, more }: { items: Schema<"HeldMember">[]; batch: number; more: number }) {
  return (
    <>
      <div class="grid-scroll short" tabIndex={0} role="region" aria-label="People whose removal is held">
        <table class="cards">
          <thead><tr><th>Person</th><th>Status</th><th>Goes to</th></tr></thead>
          <tbody>
            {items.map((m) => (
              <tr key={m.id}>
                <td data-label="Person"><a href={href("waves", batch, "people", m.id)}>{m.display ?? m.memberKey}</a>{m.display && <span class="sub">{m.memberKey}</span>}</td>
                <td data-label="Status"><Status look={lookOf(memberLooks, m.status)} />{m.phase && <span class="sub">{m.phase}</span>}</td>
                <td data-label="Goes to">{m.movesTo ? <Time at={m.movesTo} as="full" /> : <span class="quiet">No longer in the list</span>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {more > 0 && <p class="quiet">{people(more)} more are held.</p>}
    </>
  );
}

/** People whom the source lists anew, more than the guard lets through. */
export function AdditionHold({ runbook, hold: h, open, onDecided }: { runbook: string; hold: Schema<"HeldAdditions">; open: boolean; onDecided(): void }) {
  const { api } = useShared();
  const permit = usePermit("approve");
  const path = { name: runbook };
  const [shown, show] = useState(open);
  const [decision, decide] = useState<"confirm" | "discard">();
  const deciding = decision !== undefined;
  const names = useLive(async () => (shown || deciding ? data(api.GET("/runbooks/{name}/additions", { params: { path, query: { limit: 1000 } } })) : undefined), [runbook, shown, deciding, h.revision], 10_000);
  return (
    <article class="hold">
      <div class="hold-head">
        <Glyph sign="hold" kind="warn" />
        <div>
          <h3>{people(h.memberCount)} would be added{h.activeCount > 0 && ` to ${people(h.activeCount)}`}</h3>
          <p class="quiet">{sentence(h.reason)} Held since <Time at={h.since} />.</p>
          {h.confirmed && <p class="k-done"><Glyph sign="done" /> Confirmed by {h.confirmed.by} <Time at={h.confirmed.at} />: the next tick adds them</p>}
        </div>
        {!h.confirmed && (
          <div class="actions">
            <ActionButton permit={permit} onClick={() => decide("discard")}>Discard: keep {people(h.memberCount)} out…</ActionButton>
            <ActionButton kind="primary" permit={permit} onClick={() => decide("confirm")}>Add {people(h.memberCount)}…</ActionButton>
          </div>
        )}
      </div>
      <details open={shown} onToggle={(e) => show(e.currentTarget.open)}>
        <summary>Names</summary>
        {names.error && <ErrorBanner error={names.error} retry={names.reload} />}
        {names.data && (
          <div class="grid-scroll short" tabIndex={0} role="region" aria-label="People whose addition is held">
            <table class="cards"><thead><tr><th>Person</th><th>Start</th></tr></thead>
              <tbody>{names.data.items.map((m) => <tr key={m.memberKey}><td data-label="Person">{m.memberDisplay ?? m.memberKey}{m.memberDisplay && <span class="sub">{m.memberKey}</span>}</td><td data-label="Start"><Time at={m.batchStartTime} as="full" utc /></td></tr>)}</tbody>
            </table>
          </div>
        )}
        {names.data && names.data.memberCount > names.data.items.length && <p class="quiet">{people(names.data.memberCount - names.data.items.length)} more are held.</p>}
      </details>
      {decision === "discard" && (
        <Confirm title={`Keep ${people(h.memberCount)} out of the waves of ${runbook}?`} sub="They are added to no wave while the source lists them. When it lists them again after it has dropped them, they are new people." verb={`Keep ${people(h.memberCount)} out`} keep="Keep them held" danger reason="optional" onClose={() => decide(undefined)}
          preview={async () => (await data(api.POST("/runbooks/{name}/additions/discard", { params: { path }, body: { revision: h.revision, dryRun: true } }))) as Schema<"ActionPreview">}
          act={async (reason) => {
            await data(api.POST("/runbooks/{name}/additions/discard", { params: { path }, body: { revision: h.revision, reason } }));
            toast(`Discarded the addition of ${people(h.memberCount)}`);
            onDecided();
          }} />
      )}
      {decision === "confirm" && (
        <Confirm title={`Add ${people(h.memberCount)} by the source of ${runbook}?`} verb={`Add ${people(h.memberCount)}`} keep="Keep them held" reason="optional" onClose={() => decide(undefined)}
          act={async (reason) => {
            await data(api.POST("/runbooks/{name}/additions/confirm", { params: { path }, body: { revision: h.revision, reason } }));
            toast(`Confirmed the addition of ${people(h.memberCount)}`);
            onDecided();
          }}>
          <dl class="effects">
            <Effect sign="people" name="People"><b>{h.memberCount.toLocaleString()}</b> join at the next tick, if the source still lists them with these starts</Effect>
            {names.data && <Effect sign="due" name="Waves">{names.data.starts.slice(0, 8).map((s) => <div key={s.batchStartTime}><Time at={s.batchStartTime} as="full" utc /> <b>{s.memberCount.toLocaleString()}</b></div>)}{names.data.starts.length > 8 && <span class="sub">and {plural(names.data.starts.length - 8, "other start")}</span>}</Effect>}
            <Effect sign="undo" name="Way back">Remove the people from the source, or from their waves one by one.</Effect>
          </dl>
        </Confirm>
      )}
    </article>
  );
}

/** People whom the source lists and whose addition was discarded. The last decision can be taken back. */
export function DiscardedAdditions({ runbook, of: d, onDecided }: { runbook: string; of: Schema<"AdditionsDiscard">; onDecided(): void }) {
  const { api } = useShared();
  const permit = usePermit("approve");
  const [deciding, decide] = useState(false);
  const params = { path: { name: runbook } };
  const { by, at, reason } = d.discarded;
  return (
    <div class="notice plain">
      <Glyph sign="skip" />
      <span class="wrap">{people(d.memberCount)} whom the source lists {d.memberCount === 1 ? "is" : "are"} kept out of the waves, at last by {by} <Time at={at} />{reason && `: “${reason}”`}.</span>
      <ActionButton small permit={permit} onClick={() => decide(true)}>Add them after all…</ActionButton>
      {deciding && (
        <Confirm title={(p) => `Add ${p ? people(p.members) : "the people"} of the last decision after all?`} sub={`By the source of ${runbook}`} verb={(p) => `Add ${p ? people(p.members) : "them"}`} keep="Keep them out" reason="optional" onClose={() => decide(false)}
          preview={async () => (await data(api.POST("/runbooks/{name}/additions/confirm", { params, body: { revision: d.revision, dryRun: true } }))) as Schema<"ActionPreview">}
          act={async (why) => {
            await data(api.POST("/runbooks/{name}/additions/confirm", { params, body: { revision: d.revision, reason: why } }));
            toast("The next tick adds the people");
            onDecided();
          }} />
      )}
    </div>
  );
}
