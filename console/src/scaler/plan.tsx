import { useState } from "preact/hooks";
import { data, type Schema } from "../api/client";
import { useShared, type Permit } from "../shared";
import { ActionButton } from "../ui/action";
import { ErrorBanner } from "../ui/failure";
import { Section } from "../ui/page";
import { plural } from "../ui/text";
import { Time } from "../ui/time";
import { Verdicts, verdictNames } from "./verdicts";

type Plan = Schema<"ScalerPlan">;

/** The plan of the next tick, at a press of the button: it is read from Azure then, and nothing is changed. */
export function NextTick({ permit }: { permit: Permit }) {
  const { api } = useShared();
  const [state, set] = useState<{ plan?: Plan; error?: unknown; reading?: boolean }>({});
  const read = () => {
    set({ reading: true });
    data(api.POST("/scaler/plan")).then((plan) => set({ plan }), (error: unknown) => set({ error }));
  };
  return (
    <Section id="plan" title="Next tick" end={<ActionButton permit={permit} small onClick={read}>{state.plan ? "Plan again" : "Plan the next tick"}</ActionButton>}>
      {state.error !== undefined && <ErrorBanner error={state.error} retry={read} />}
      {state.reading && <div class="skeleton" aria-busy="true"><p class="quiet padded">Azure is read. It can take half a minute.</p></div>}
      {state.plan && <Planned plan={state.plan} />}
      {!state.plan && !state.reading && state.error === undefined && <p class="empty">A plan reads container groups and messages now, and changes nothing.</p>}
    </Section>
  );
}

function Planned({ plan: p }: { plan: Plan }) {
  const groups = new Map(p.create.map((g) => [`${g.subscription}/${g.messageId}`, g]));
  return (
    <>
      <p class="quiet">At <Time at={p.at} />, a tick would create {plural(p.create.length, "container group")} and delete {p.delete.length}; {p.activeCount} of {p.maxInstances} are active. Nothing was changed.</p>
      <h3 class="more">Messages <span class="count">{p.messageCount}</span></h3>
      <Verdicts verdicts={p.verdicts} partial={p.partlyReadSubscriptions} />
      {p.messages.length > 0 && <h3 class="more">Each message</h3>}
      {p.messages.length > 0 && (
        <div class="grid-scroll" tabIndex={0} role="region" aria-label="Messages of the plan">
          <table class="cards">
            <thead><tr><th>Message</th><th>Subscription</th><th>Verdict</th><th>File</th><th>Container group</th><th>Size</th></tr></thead>
            <tbody>
              {p.messages.map((m) => {
                const g = m.verdict === "create" ? groups.get(`${m.subscription}/${m.messageId}`) : undefined;
                return (
                  <tr key={`${m.subscription}/${m.sequenceNumber}`}>
                    <td data-label="Message">{m.messageId || "without id"}</td>
                    <td data-label="Subscription">{m.subscription}</td>
                    <td data-label="Verdict">{verdictNames[m.verdict].name}</td>
                    <td data-label="File">{m.fileSizeMb && `${m.fileSizeMb} MB`}</td>
                    <td data-label="Container group">{g?.group}</td>
                    <td data-label="Size">{g && `${plural(g.cpu, "core")}, ${g.memoryGb} GB`}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      {p.blockedSubscriptions.map((b) => <p key={b.subscription} class="quiet">Subscription {b.subscription} is not scaled: {b.reason}.</p>)}
    </>
  );
}
