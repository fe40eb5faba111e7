import { useState } from "preact/hooks";
import { data, type Schema } from "../api/client";
import { useShared } from "../shared";
import { Confirm, Effect } from "../ui/dialog";
import { ErrorBanner } from "../ui/failure";
import { people, plural, sentence } from "../ui/text";
import { toast } from "../ui/toast";
import { usePreview } from "./preview";

/** Turns the automation of a runbook on or off. On is preceded by a preview, whose additions it confirms. */
export function Switch({ automation: a, onClose, onDone }: { automation: Schema<"Automation">; onClose(): void; onDone(): void }) {
  const [on] = useState(a.automationEnabled); // a change by another person does not turn the question round
  return on ? <Off automation={a} onClose={onClose} onDone={onDone} /> : <On automation={a} onClose={onClose} onDone={onDone} />;
}

interface Props {
  automation: Schema<"Automation">;
  onClose(): void;
  onDone(): void;
}

function useSet({ automation: a, onDone }: Props) {
  const { api } = useShared();
  return async (enabled: boolean, revision?: string) => {
    await data(api.PUT("/runbooks/{name}/automation", { params: { path: { name: a.runbook }, header: { "If-Match": `"${a.etag}"` } }, body: { enabled, revision } }));
    toast(`Turned automation of ${a.runbook} ${enabled ? "on" : "off"}`);
    onDone();
  };
}

function Off(props: Props) {
  const set = useSet(props);
  const { automation: a, onClose } = props;
  return (
    <Confirm title={`Turn automation of ${a.runbook} off?`} verb="Turn off" keep="Leave it on" act={() => set(false)} onClose={onClose}>
      <dl class="effects">
        <Effect sign="source" name="New waves">The source creates none from now on.</Effect>
        <Effect sign="run" name="Open waves">They follow the source as before, and run their phases.</Effect>
        <Effect sign="undo" name="Way back">Turn it on again: waves that the source lists by then are made.</Effect>
      </dl>
    </Confirm>
  );
}

function On(props: Props) {
  const set = useSet(props);
  const { automation: a, onClose } = props;
  const { preview: p, error, again } = usePreview(a.runbook, 1);
  const added = p?.groups.reduce((sum, g) => sum + g.add + g.addHeld, 0) ?? 0;
  const made = p?.groups.filter((g) => !g.batchId).length ?? 0;
  return (
    <Confirm title={`Turn automation of ${a.runbook} on?`} verb={p ? `Turn on for ${people(added)}` : "Turn on"} keep="Leave it off" ready={p !== undefined} onClose={onClose}
      act={() => set(true, p?.additionHold?.revision)}>
      {error !== undefined && <ErrorBanner error={error} retry={again} />}
      {!p && error === undefined && <div class="skeleton effects-room" aria-busy="true"><p class="quiet padded">The query runs to state the effect.</p></div>}
      {p && (
        <dl class="effects">
          <Effect sign="people" name="People"><b>{added.toLocaleString()}</b> of {plural(p.rowCount, "row")} are added at the next tick{p.additionHold && <span class="sub">{sentence(p.additionHold.reason)} You confirm them with this.</span>}</Effect>
          <Effect sign="due" name="Waves"><b>{made.toLocaleString()}</b> {made === 1 ? "is" : "are"} made, {plural(p.groups.length - made, "open wave")} {p.groups.length - made === 1 ? "is" : "are"} kept up to date</Effect>
          {p.problemCount > 0 && <Effect sign="warning" name="Problems" warn>{plural(p.problemCount, "row")} cannot be used. They are listed on this page after the sync.</Effect>}
          <Effect sign="undo" name="Way back">Turn it off. Waves that were made stay.</Effect>
        </dl>
      )}
    </Confirm>
  );
}
