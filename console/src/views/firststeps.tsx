// What leads to the first wave, while there is none.
import type { ComponentChildren } from "preact";
import { data } from "../api/client";
import { useLive } from "../live";
import { href } from "../router";
import { useShared } from "../shared";
import { Glyph } from "../ui/glyph";
import { Head } from "../ui/page";
import { plural } from "../ui/text";

/** Whether the system has a batch, a runbook and a worker. */
export function useBeginnings(wanted: boolean) {
  const { api } = useShared();
  return useLive(async () => {
    if (!wanted) return undefined;
    const query = { limit: 1 };
    const [batches, runbooks, workers] = await Promise.all([
      data(api.GET("/batches", { params: { query } })), data(api.GET("/runbooks", { params: { query } })), data(api.GET("/workers", { params: { query } })),
    ]);
    return { wave: batches.items[0], runbook: runbooks.items[0], worker: workers.items[0] };
  }, [wanted], 1500).data;
}

export function FirstSteps({ at }: { at: NonNullable<ReturnType<typeof useBeginnings>> }) {
  const { worker: w, runbook: r } = at;
  return (
    <div class="first-steps">
      <Head title="No waves yet" sub="A wave is a group of people who move together. Three steps lead to the first one." />
      <ol>
        <Step n={1} done={w !== undefined} title={w ? "A worker is ready" : "Start a worker"}>
          {w ? <p><b>{w.id}</b> has {plural(w.functionCount, "function")}. <a href={href("workers", w.id)}>Open {w.id}</a></p> : <p>A worker carries out the steps of runbooks in a tenant. On this machine: <code>bin/worker</code>, with the environment that <code>matoolkit local env --for worker</code> prints.</p>}
        </Step>
        <Step n={2} done={r !== undefined} title={r ? "A runbook is published" : "Publish a runbook"}>
          {r ? <p><b>{r.name}</b>, version {r.version}. <a href={href("runbooks", r.name)}>Open {r.name}</a></p> : <p>A runbook says what is done for each person, and when. Write one in the editor: what is wrong is shown beside its line. <a class="button small" href={href("runbooks")}>Open the runbooks</a></p>}
        </Step>
        <Step n={3} title="Make a wave of people">
          <p>Drop a CSV with one person a line. Every row is checked before anything is written, and you see the wrong ones in a grid. {r && <a class="button small primary" href={href("waves", "new", { runbook: r.name })}>Make a wave from a CSV</a>}</p>
        </Step>
      </ol>
    </div>
  );
}

function Step({ n, done, title, children }: { n: number; done?: boolean; title: string; children: ComponentChildren }) {
  return (
    <li class={done ? "past" : ""}>
      <span class="n">{done ? <Glyph sign="done" kind="done" /> : n}</span>
      <div><h2>{title}</h2>{children}</div>
    </li>
  );
}

