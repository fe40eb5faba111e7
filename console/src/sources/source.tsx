import { useState } from "preact/hooks";
import { data, type Schema } from "../api/client";
import { useLive } from "../live";
import { href, setQuery, type Place } from "../router";
import { usePermit, useShared } from "../shared";
import { ActionButton } from "../ui/action";
import { ErrorBanner, Failure } from "../ui/failure";
import { Glyph } from "../ui/glyph";
import { Head, Loading, Section } from "../ui/page";
import { people, plural } from "../ui/text";
import { Time } from "../ui/time";
import { AdditionHold, DiscardedAdditions, RemovalHold } from "./holds";
import { PreviewPanel } from "./preview";
import { Problems } from "./problems";
import { Switch } from "./switch";
import { Syncs } from "./syncs";
import { SourceState, sourceNames } from "./view";

/** The data source of one runbook. */
export function Source({ name, place }: { name: string; place: Place }) {
  const { api } = useShared();
  const permit = usePermit("administer");
  const path = { name };
  const automation = useLive(() => data(api.GET("/runbooks/{name}/automation", { params: { path } })), [name]);
  const runbook = useLive(() => data(api.GET("/runbooks/{name}", { params: { path } })), [name], 1500);
  const [dialog, setDialog] = useState(false);
  const preview = place.query.has("preview");
  const a = automation.data;
  if (automation.error && !a) return <Failure title={`The source of ${name} cannot be shown`} error={automation.error} retry={automation.reload} />;
  if (!a) return <Loading />;
  const holds = a.removalHolds ?? [];
  const addition = a.additionHold;
  const source = runbook.data?.source;
  const rows: Schema<"RowProblem">[] = a.problems ?? [];
  return (
    <>
      <Head title={name} crumb={<><a href={href("sources")}>Sources</a> /</>}
        status={<SourceState grounded runbook={{ ...a, batchesHeld: holds.filter((h) => !h.confirmed).length, peopleHeld: addition && !addition.confirmed ? addition.memberCount : 0, lastSyncAt: a.lastRunAt }} />}
        facts={<>
          {source && <span>Source <b>{sourceNames[source] ?? source}</b></span>}
          <span>Automation <b>{a.automationEnabled ? "on" : "off"}</b>{a.automationEnabled ? a.enabledAt && <>, since <Time at={a.enabledAt} /> by {a.enabledBy}</> : a.disabledAt && <>, since <Time at={a.disabledAt} /> by {a.disabledBy}</>}</span>
          {a.lastGoodAt && <span>Last read <b><Time at={a.lastGoodAt} as="exactly" /></b>{a.durationMs !== undefined && `, took ${a.durationMs < 1000 ? `${a.durationMs} ms` : `${(a.durationMs / 1000).toFixed(1)} s`}`}</span>}
          <a href={href("runbooks", name)}>Runbook</a>
          <a href={href("waves", { runbook: name })}>Waves</a>
        </>}
        actions={<>
          <ActionButton permit={permit} onClick={() => setQuery({ preview: preview ? undefined : "1" })}>{preview ? "Close the preview" : "Preview the next sync"}</ActionButton>
          <ActionButton permit={permit} kind={a.automationEnabled ? "" : "primary"} onClick={() => setDialog(true)}>{a.automationEnabled ? "Turn automation off…" : "Turn automation on…"}</ActionButton>
        </>} />
      {automation.error && <ErrorBanner error={automation.error} retry={automation.reload} />}
      {a.idle && <p class="notice"><Glyph sign="pause" />{a.idle}</p>}
      {a.lastError && (
        <div class="notice fail"><Glyph sign="fail" /><span class="wrap"><b>The source cannot be read{a.lastErrorAt && <> since <Time at={a.lastErrorAt} /></>}.</b> {a.lastError} {a.lastGoodAt ? <>The waves keep the list of <Time at={a.lastGoodAt} />.</> : "Nothing was read so far."}</span></div>
      )}
      {(holds.length > 0 || addition) && (
        <Section id="holds" title="Held for a decision" count={holds.length + (addition ? 1 : 0)} kind="warn" note="Nothing of this happens before someone decides">
          {addition && <AdditionHold runbook={name} hold={addition} open={place.query.get("hold") === "additions"} onDecided={automation.reload} />}
          {holds.map((h) => <RemovalHold key={h.batchId} hold={h} open={place.query.get("hold") === String(h.batchId) || holds.length === 1} onDecided={automation.reload} />)}
        </Section>
      )}
      {a.discardedAdditions && <DiscardedAdditions runbook={name} of={a.discardedAdditions} onDecided={automation.reload} />}
      {preview && <PreviewPanel name={name} permit={permit} />}
      <Section id="problems" title="Rows that were not used" count={a.problemCount} kind={a.problemCount ? "warn" : ""} note={a.problemCount > rows.length ? `the first ${rows.length} are shown` : a.lastRunAt && `of ${plural(a.rowCount, "row")} in the last sync`}>
        {rows.length > 0 ? <Problems problems={rows} file={`${name}-problems.csv`} /> : <p class="empty">{a.lastRunAt ? `All ${plural(a.rowCount, "row")} of the last sync were used.` : "The source was not read yet. Preview the next sync to see its rows."}</p>}
      </Section>
      <Section id="syncs" title="Syncs" note="the last 50">
        <Syncs name={name} />
      </Section>
      {dialog && <Switch automation={a} onClose={() => setDialog(false)} onDone={automation.reload} />}
      <p class="quiet visually-hidden" role="status">{holds.length > 0 && `${plural(holds.length, "hold")} of removals, ${people(holds.reduce((sum, h) => sum + h.memberCount, 0))}`}</p>
    </>
  );
}
