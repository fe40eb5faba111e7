import type { Schema } from "../api/client";
import { href, type Place } from "../router";
import { useShared } from "../shared";
import { ErrorBanner } from "../ui/failure";
import { Glyph, type Sign } from "../ui/glyph";
import { Head, Loading, Section } from "../ui/page";
import { Bar } from "../ui/bar";
import { plural } from "../ui/text";
import { Time } from "../ui/time";

type Attention = Schema<"Attention">;

const signs: Record<Attention["event"], [Sign, string]> = {
  "gate_waiting": ["lock", "warn"], "removals_held": ["hold", "warn"], "additions_held": ["hold", "warn"], failures: ["fail", "fail"],
  "worker_silent": ["silent", "warn"], "source_failing": ["source", "warn"], "message_unprocessable": ["warning", "warn"],
};

/** Where a person can act on it. */
function target(a: Attention): [string, string] {
  switch (a.event) {
    case "failures": return [href("waves", a.batchId!, { people: "failed" }), `Review ${a.count ?? ""} failures`];
    case "gate_waiting": return [href("waves", a.batchId!), "Review and approve"];
    case "removals_held": return [href("sources", a.runbook!, { hold: a.batchId }), `Review ${a.count ?? ""} names`];
    case "additions_held": return [href("sources", a.runbook!), `Review ${a.count ?? ""} names`];
    case "source_failing": return [href("sources", a.runbook!), "Open source"];
    case "worker_silent": return [href("workers", a.workerId!), "Open worker"];
    case "message_unprocessable": return [href("activity", { show: "messages" }), "Open messages"];
  }
}

/** What waits for a person, what runs, and what comes next. */
export function Now(_: { place: Place }) {
  const { summary } = useShared();
  const s = summary.data;
  if (!s) return summary.error ? <ErrorBanner error={summary.error} retry={summary.reload} /> : <Loading />;
  return (
    <>
      <Head title="Now" sub={`${plural(s.runningBatches, "wave is", "waves are")} running, and ${plural(s.attention.length, "thing needs", "things need")} a person.`} />
      <div class="split">
        <Section id="attention" title="Needs a person" count={s.attention.length}>
          {s.attention.length === 0 && <p class="empty">Nothing waits for a person.</p>}
          <ul>
            {s.attention.map((a) => {
              const [sign, kind] = signs[a.event];
              const [address, verb] = target(a);
              return (
                <li class="tile" key={`${a.event}/${a.batchId}/${a.phase}/${a.workerId}/${a.runbook}`}>
                  <Glyph sign={sign} kind={kind} />
                  <span><b>{a.subject}</b></span>
                  <span class="when">{a.dueAt && <>due <Time at={a.dueAt} /></>}</span>
                  <a class="button" href={address}>{verb}</a>
                  <span class="sub">{a.text}</span>
                </li>
              );
            })}
          </ul>
        </Section>
        <Section id="running" title="Running now" count={s.runningBatches}>
          {s.running.length === 0 && <p class="empty">No phase runs.</p>}
          {s.running.map((r) => (
            <div class="running" key={r.phaseId}>
              <div class="row"><a href={href("waves", r.batchId)}><b>{r.batchName ?? `Wave ${r.batchId}`}</b></a><span class="quiet">{r.phase}</span></div>
              <Bar counts={{ done: r.succeeded, run: r.running, wait: 0, fail: r.failed, skip: r.cancelled }} />
              <span class="sub">{r.succeeded + r.failed + r.cancelled} of {plural(r.members, "person", "people")}, {r.perMinute.toFixed(1)} a minute</span>
            </div>
          ))}
        </Section>
      </div>
    </>
  );
}
