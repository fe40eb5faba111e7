import type { Schema } from "../api/client";

type Verdict = Schema<"ScalerVerdict">;

/** The verdicts in the order in which they are shown. */
export const verdictNames: Record<Verdict, { name: string; meaning: string }> = {
  create: { name: "Create", meaning: "A container group is created for it." },
  create_failed: { name: "Creation failed", meaning: "Its container group could not be created. A later tick tries again." },
  waiting_for_capacity: { name: "Waits for capacity", meaning: "The limit of active container groups is reached." },
  waiting_for_next_tick: { name: "Waits for the next tick", meaning: "A later tick creates its container group: one tick creates a limited number." },
  has_container: { name: "Has a container", meaning: "An active container group has its id." },
  container_ended: { name: "Container ended", meaning: "A container group with its id has ended, and is deleted first." },
  duplicate: { name: "Duplicate", meaning: "Another message has its id." },
  delivery_limit: { name: "Delivery limit", meaning: "It was delivered as often as its subscription permits." },
  message_id_missing: { name: "No id", meaning: "It has no id." },
  body_not_json: { name: "Not JSON", meaning: "Its body is not a JSON object." },
  size_missing: { name: "No size", meaning: "Its body has no file_size_mb, at the top or in data." },
  size_invalid: { name: "Invalid size", meaning: "Its file_size_mb is not a number from 0 to 1073741824." },
};

/** Messages by verdict: each message has one, so that the counts add up to the number of messages. */
export function Verdicts({ verdicts, partial }: { verdicts: Record<string, number>; partial: string[] }) {
  const shown = (Object.keys(verdictNames) as Verdict[]).filter((v) => verdicts[v]);
  return (
    <>
      {shown.length === 0 && <p class="empty">There was no message.</p>}
      {shown.length > 0 && (
        <table class="cards">
          <thead><tr><th class="number">Messages</th><th>Verdict</th><th>Meaning</th></tr></thead>
          <tbody>
            {shown.map((v) => (
              <tr key={v}><td class="number" data-label="Messages">{verdicts[v]!.toLocaleString()}</td><td data-label="Verdict">{verdictNames[v].name}</td><td data-label="Meaning">{verdictNames[v].meaning}</td></tr>
            ))}
          </tbody>
        </table>
      )}
      {partial.length > 0 && <p class="quiet">More messages than were read: {partial.join(", ")}.</p>}
    </>
  );
}
