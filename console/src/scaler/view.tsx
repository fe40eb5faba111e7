// The container scaler: what its latest tick did, its containers, the messages that need someone, and the next tick.
import type { ComponentChildren } from "preact";
import type { Schema } from "../api/client";
import { data } from "../api/client";
import { useLive } from "../live";
import { usePermit, useShared } from "../shared";
import { ErrorBanner } from "../ui/failure";
import { Glyph } from "../ui/glyph";
import { Head, Loading, Section } from "../ui/page";
import { plural } from "../ui/text";
import { Time } from "../ui/time";
import { NextTick } from "./plan";
import { Verdicts, verdictNames } from "./verdicts";

type Tick = Schema<"ScalerTick">;
type Lost = Schema<"LostContainer">;

export function Scaler() {
  const { api } = useShared();
  const permit = usePermit("administer");
  const scaler = useLive(() => data(api.GET("/scaler")), [], 1500);
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
      <NextTick permit={permit} />
    </>
  );
}

function LostNotice({ lost: l }: { lost: Lost }) {
  return (
    <p class="notice"><Glyph sign="warning" /><span><b>{plural(l.count, "container")} of message {l.messageId} ended before {l.count === 1 ? "it" : "they"} received it.</b> {l.detail && `${l.detail}. `}Check the image and the settings of the containers.</span></p>
  );
}

function LastTick({ tick: t }: { tick: Tick }) {
  const attention: [string, ComponentChildren, ComponentChildren][] = [
    ...t.failures.map((f): [string, ComponentChildren, ComponentChildren] => [f.group, <>{f.group}{f.messageId && <span class="sub">message {f.messageId}</span>}</>, f.reason]),
    ...t.skipped.map((m): [string, ComponentChildren, ComponentChildren] => [`${m.subscription}/${m.sequenceNumber}`, <>Message {m.messageId || "without id"}<span class="sub">{m.subscription}, sequence number {m.sequenceNumber}</span></>, verdictNames[m.verdict].meaning]),
    ...t.blockedSubscriptions.map((b): [string, ComponentChildren, ComponentChildren] => [b.subscription, `Subscription ${b.subscription}`, b.reason]),
  ];
  return (
    <>
      <p class="quiet">The latest tick, <Time at={t.at} />: {t.activeCount - t.createdCount} active and {t.createdCount} created make {plural(t.activeCount, "container group")}. It deleted {t.deletedCount} that had ended.</p>
      <Section id="messages" title="Messages that the tick read" count={t.messageCount}><Verdicts verdicts={t.verdicts} partial={t.partlyReadSubscriptions} /></Section>
      <Section id="containers" title="Container groups when the tick began" count={t.containers.length}>
        {t.containers.length === 0 && <p class="empty">There was no container group.</p>}
        {t.containers.length > 0 && (
          <div class="grid-scroll" tabIndex={0} role="region" aria-label="Container groups">
            <table class="cards">
              <thead><tr><th>Container group</th><th>State</th><th>Message</th><th>Subscription</th><th>File</th><th>Started</th></tr></thead>
              <tbody>
                {t.containers.map((c) => (
                  <tr key={c.group}>
                    <td data-label="Container group">{c.group}</td>
                    <td data-label="State">{c.state}{c.exitCode !== undefined && ` (${c.exitCode})`}{c.detail && <span class="sub">{c.detail}</span>}</td>
                    <td data-label="Message">{c.messageId}</td>
                    <td data-label="Subscription">{c.subscription}</td>
                    <td data-label="File">{c.fileSizeMb && `${c.fileSizeMb} MB`}</td>
                    <td data-label="Started">{c.startedAt && <Time at={c.startedAt} />}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Section>
      {attention.length > 0 && (
        <Section id="attention" title="Needs someone" count={attention.length} kind="warn">
          <table class="cards">
            <thead><tr><th>What</th><th>Why</th></tr></thead>
            <tbody>{attention.map(([key, what, why]) => <tr key={key}><td data-label="What">{what}</td><td data-label="Why">{why}</td></tr>)}</tbody>
          </table>
        </Section>
      )}
    </>
  );
}
