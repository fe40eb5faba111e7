import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { data, type Api, type Schema } from "../api/client";
import { useShared } from "../shared";
import { duration, people, seconds, time, when } from "../ui/text";
import { timeLeft } from "./counts";

type Phase = Schema<"Phase">;

/** How many members had ended the phase at a time, in seconds. */
type Sample = [at: number, ended: number];

const most = 400; // samples that are kept of a phase; older ones are thinned out

const endedOf = (p: Phase) => p.succeeded + p.failed + p.cancelled;

const nameOf = (batch: number, p: Phase) => `matoolkit:pace:${batch}/${p.id}/${p.dispatchedAt}`;

/** The progress of a phase as this page saw it, which outlives a reload. */
function samplesOf(batch: number, p: Phase): Sample[] {
  const name = nameOf(batch, p);
  let samples = JSON.parse(sessionStorage.getItem(name) ?? "[]") as Sample[];
  if (!p.dispatchedAt) return [];
  if (samples.length === 0) samples.push([Date.parse(p.dispatchedAt) / 1000, 0]);
  const [at, ended] = samples.at(-1)!;
  const now = Math.min(Date.now(), p.completedAt ? Date.parse(p.completedAt) : Infinity) / 1000;
  if (endedOf(p) !== ended || (now - at > 10 && !p.completedAt)) samples.push([Math.max(now, at + 0.001), endedOf(p)]);
  if (samples.length > most) samples = samples.filter((_, n) => n % 2 === 0 || n > samples.length - 20);
  sessionStorage.setItem(name, JSON.stringify(samples));
  return samples;
}

const mostRead = 500; // members whose steps are read for the time before this page was opened

/** The progress of a phase before this page was opened, by the ends of its steps. */
async function historyOf(api: Api, batch: number, p: Phase): Promise<Sample[]> {
  const page = await data(api.GET("/batches/{id}/steps", { params: { path: { id: batch }, query: { phase: p.name, limit: mostRead } } }));
  const ends = [...Map.groupBy(page.items.filter((s) => s.kind === "phase" && !s.rollback), (s) => s.memberId).values()].flatMap((steps) => {
    const failed = steps.find((s) => s.status === "failed" || s.status === "poll_timeout");
    const ended = failed !== undefined || steps.every((s) => ["succeeded", "skipped", "skipped_by_condition", "cancelled"].includes(s.status));
    const times = (failed ? [failed] : steps).flatMap((s) => (s.completedAt ? [Date.parse(s.completedAt) / 1000] : []));
    return ended && times.length > 0 ? [Math.max(...times)] : [];
  });
  return ends.sort((a, b) => a - b).map((at, n) => [at, n + 1]);
}

/** Puts the time before the page was opened in front of what the page saw. Each sample is later than the one before. */
function withHistory(samples: Sample[], history: Sample[]): Sample[] {
  const [start, ...seen] = samples;
  const before = history.filter(([at], n) => at > start![0] && (!seen[0] || at < seen[0][0]) && at !== history[n + 1]?.[0]);
  const step = Math.max(1, Math.ceil(before.length / (most / 2)));
  return [start!, ...before.filter((_, n) => (before.length - 1 - n) % step === 0), ...seen];
}

/** Reads what the page did not see, once. The result is whether the whole phase is known. */
function useHistory(batch: number, p: Phase): boolean {
  const { api } = useShared();
  const name = nameOf(batch, p);
  const known = `${name}/read`;
  const [, arrived] = useState(false);
  useEffect(() => {
    if (!p.dispatchedAt || p.members > mostRead || sessionStorage.getItem(known)) return;
    historyOf(api, batch, p).then((history) => {
      const samples = samplesOf(batch, p);
      if (samples.length > 0) sessionStorage.setItem(name, JSON.stringify(withHistory(samples, history)));
      sessionStorage.setItem(known, "1");
      arrived(true);
    }, () => {}); // the chart begins with what this page sees
  }, [name]);
  return sessionStorage.getItem(known) !== null;
}

/** Members per minute over the last minutes, or on average if there is no such time yet. */
function rateOf(samples: Sample[], minutes: number) {
  const [end, last] = samples.at(-1)!;
  const from = samples.findLast(([at]) => at <= end - minutes * 60) ?? samples[0]!;
  return end > from[0] ? Math.max(0, ((last - from[1]) / (end - from[0])) * 60) : 0; // a retry takes people back
}

/** A chart of who is left in a phase, and of how many end it per minute, with the expected end. */
export function Pace({ batch, phase: p }: { batch: number; phase: Phase }) {
  const root = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const whole = useHistory(batch, p);
  const samples = samplesOf(batch, p);
  const rate = samples.length > 1 ? rateOf(samples, 5) : 0;
  const left = p.members - endedOf(p);
  const ends = p.status === "dispatched" && rate > 0 ? timeLeft(p, rate) : undefined;

  useEffect(() => {
    if (!root.current || samples.length === 0) return;
    const data = rows(samples, p.members, ends);
    if (chart.current) chart.current.setData(data);
    else chart.current = new uPlot(options(root.current.clientWidth), data, root.current);
  });
  useEffect(() => {
    const resize = () => chart.current?.setSize({ width: root.current!.clientWidth, height });
    const theme = matchMedia("(prefers-color-scheme: dark)");
    const redraw = () => chart.current?.redraw();
    const attribute = new MutationObserver(redraw);
    attribute.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    addEventListener("resize", resize);
    theme.addEventListener("change", redraw);
    return () => {
      removeEventListener("resize", resize);
      theme.removeEventListener("change", redraw);
      attribute.disconnect();
      chart.current?.destroy();
      chart.current = undefined;
    };
  }, [p.id]);

  if (!p.dispatchedAt) return <p class="quiet">The chart begins when {p.name} starts.</p>;
  const sentence = p.completedAt
    ? `${p.name} took ${duration(Date.parse(p.completedAt) - Date.parse(p.dispatchedAt))} for ${people(p.members)}.`
    : `${people(left)} of ${p.members.toLocaleString()} are left in ${p.name}; ${rate < 10 ? rate.toFixed(1) : Math.round(rate)} a minute${ends !== undefined ? `, to the end at about ${when(new Date(Date.now() + ends))}` : ""}.`;
  return (
    <figure class="pace">
      <figcaption>{sentence}</figcaption>
      <div ref={root} aria-hidden="true" class="chart" />
      <p class="quiet">{`Line: people left. Bars: people through per minute${whole ? "" : ", as this page saw them"}.`}</p>
      <details>
        <summary>Numbers</summary>
        <table class="compact">
          <thead><tr><th>Time</th><th class="number">Through</th><th class="number">Left</th></tr></thead>
          <tbody>{thin(samples, 12).map(([at, ended]) => <tr key={at}><td>{time(new Date(at * 1000))}</td><td class="number">{ended.toLocaleString()}</td><td class="number">{(p.members - ended).toLocaleString()}</td></tr>)}</tbody>
        </table>
      </details>
    </figure>
  );
}

function thin<T>(list: T[], n: number): T[] {
  const step = Math.max(1, Math.ceil(list.length / n));
  return list.filter((_, i) => (list.length - 1 - i) % step === 0);
}

/** The members per minute at some thirty of the samples, each since the one before. */
function bars(samples: Sample[]): (number | null)[] {
  const width = Math.max(1, (samples.at(-1)![0] - samples[0]![0]) / 30);
  let [from, before] = samples[0]!;
  return samples.map(([at, ended]) => {
    if (at - from < width) return null;
    const rate = (Math.max(0, ended - before) / (at - from)) * 60; // a retry takes people back
    [from, before] = [at, ended];
    return rate;
  });
}

/** The columns of the chart: time, people left, the expected line to the end, and people per minute. */
function rows(samples: Sample[], members: number, ends?: number): uPlot.AlignedData {
  const x = samples.map(([at]) => at);
  const line: (number | null)[] = samples.map(([, ended]) => members - ended);
  const expected: (number | null)[] = samples.map(() => null);
  const perMinute: (number | null)[] = bars(samples);
  if (ends !== undefined) {
    expected[expected.length - 1] = line.at(-1)!;
    x.push(x.at(-1)! + ends / 1000);
    line.push(null);
    expected.push(0);
    perMinute.push(null);
  }
  return [x, line, expected, perMinute];
}

const height = 190;
/** A colour of the theme, which may have changed since the chart was made. */
function resolved(name: string) {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const is = getComputedStyle(probe).color;
  probe.remove();
  return is;
}

function options(width: number): uPlot.Options {
  const axis: uPlot.Axis = { stroke: () => resolved("--text-3"), grid: { stroke: () => resolved("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
  return {
    width, height, padding: [8, 8, 0, 0],
    legend: { show: false }, cursor: { show: false },
    scales: { x: { time: true }, y: { range: (_u, _min, max) => [0, Math.max(1, max * 1.05)] }, rate: { range: (_u, _min, max) => [0, Math.max(1, (max || 1) * 3)] } },
    axes: [
      { ...axis, values: (u, ticks) => ticks.map((t) => (u.scales.x!.max! - u.scales.x!.min! < 600 ? seconds : time)(new Date(t * 1000))), space: 60 },
      { ...axis, size: 36, values: (_u, ticks) => ticks.map((t) => (Number.isInteger(t) ? t.toLocaleString() : "")) },
    ],
    series: [
      {},
      { stroke: () => resolved("--accent"), width: 2, points: { show: false } },
      { stroke: () => resolved("--accent"), width: 2, dash: [5, 4], points: { show: true, size: 6 } },
      { scale: "rate", stroke: () => resolved("--run"), fill: () => resolved("--run"), paths: uPlot.paths.bars!({ size: [0.7, 12], align: -1 }), points: { show: false } },
    ],
  };
}
