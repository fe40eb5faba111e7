import { dayAndTime, exactly, inUTC, seconds, when } from "./text";

const forms = { when, exactly, seconds, full: dayAndTime };

/** A time in local time; its day unless that is today. UTC is in its title, or beside it with utc. */
export function Time({ at, utc, as = "when" }: { at: string; utc?: boolean; as?: keyof typeof forms }) {
  return <time dateTime={at} title={`${at.slice(0, 10)} ${inUTC(at)}`}>{forms[as](at)}{utc && <span class="quiet"> ({inUTC(at)})</span>}</time>;
}
