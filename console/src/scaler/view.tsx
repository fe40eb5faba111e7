// The container scaler: what its latest tick did, its containers, and the messages that need someone.
import type { Schema } from "../api/client";
import { data } from "../api/client";
import { useLive } from "../live";
import { useShared } from "../shared";
import { ErrorBanner } from "../ui/failure";
import { Glyph } from "../ui/glyph";
import { Head, Loading, Section } from "../ui/page";
import { plural } from "../ui/text";
import { Time } from "../ui/time";

type Tick = Schema<"ScalerTick">;
type Lost = Schema<"LostContainer">;

export function Scaler() {
  const { api } = useShared();
  const scaler = useLive(() => data(api.GET("/scaler")), [], 5000);
  if (!scaler.data) return scaler.error ? <ErrorBanner error={scaler.error} retry={scaler.reload} /> : <Loading />;
  const { configured, settings, lastTick, lostContainers } = scaler.data;
  if (!configured || !settings) return <Head title="Containers" sub="The container scaler is not configured." />;
  return (
    <>
      <Head title="Containers" sub={<>One container of {settings.image} for each message of {settings.topic}. {lastTick ? `${lastTick.activeCount} of ${plural(settings.maxInstances, "container group")} are active.` : "There was no tick yet."}</>} />
      {scaler.error && <ErrorBanner error={scaler.error} retry={scaler.reload} />}
      {lastTick?.error && <p class="notice fail"><Glyph sign="warning" /><span><b>The latest tick has failed.</b> {lastTick.error}</span></p>}
      {lostContainers?.map((l) => <LostNotice key={`${l.subscription}/${l.messageId}`} lost={l} />)}
      {lastTick && <LastTick tick={lastTick} />}
    </>
  );
}

function LostNotice({ lost: l }: { lost: Lost }) {
  return (
    <p class="notice"><Glyph sign="warning" /><span><b>{plural(l.count, "container")} of message {l.messageId} ended before {l.count === 1 ? "it" : "they"} received it.</b> {l.detail && `${l.detail}. `}Check the image and the settings of the containers.</span></p>
  );
}

function LastTick({ tick: t }: { tick: Tick }) {
  const blocked = t.blockedSubscriptions.length + t.skipped.length + t.failures.length;
  return (
    <>
      <p class="quiet">The latest tick, <Time at={t.at} />, created {t.createdCount} and deleted {t.deletedCount}. {Object.entries(t.verdicts).map(([verdict, n]) => `${n} ${verdict.replaceAll("_", " ")}`).join(", ")}</p>
      <Section id="containers" title="Container groups" count={t.containers.length}>
        <table class="cards">
          <thead><tr><th>Container group</th><th>State</th><th>Message</th><th>Subscription</th><th>File</th><th>Started</th></tr></thead>
          <tbody>
            {t.containers.map((c) => (
              <tr key={c.group}><td>{c.group}</td><td>{c.state}{c.exitCode !== undefined && ` (${c.exitCode})`}{c.detail && <span class="sub">{c.detail}</span>}</td><td>{c.messageId}</td><td>{c.subscription}</td><td>{c.fileSizeMb && `${c.fileSizeMb} MB`}</td><td>{c.startedAt && <Time at={c.startedAt} />}</td></tr>
            ))}
          </tbody>
        </table>
      </Section>
      {blocked > 0 && (
        <Section id="attention" title="Needs someone" count={blocked} kind="warn">
          <table class="cards">
            <thead><tr><th>What</th><th>Why</th></tr></thead>
            <tbody>
              {t.failures.map((f) => <tr key={f.group}><td>{f.group}{f.messageId && <span class="sub">message {f.messageId}</span>}</td><td>{f.reason}</td></tr>)}
              {t.skipped.map((m) => <tr key={`${m.subscription}/${m.sequenceNumber}`}><td>Message {m.messageId || "without id"}<span class="sub">{m.subscription}, sequence number {m.sequenceNumber}</span></td><td>{m.verdict.replaceAll("_", " ")}</td></tr>)}
              {t.blockedSubscriptions.map((b) => <tr key={b.subscription}><td>Subscription {b.subscription}</td><td>{b.reason}</td></tr>)}
            </tbody>
          </table>
        </Section>
      )}
    </>
  );
}
