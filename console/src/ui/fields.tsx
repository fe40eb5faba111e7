// Fields of forms and of filters.
import type { ComponentChildren, InputHTMLAttributes } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { setQuery } from "../router";
import { Glyph } from "./glyph";

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  error?: string;
}

let fields = 0;
const useId = () => useState(() => `field-${++fields}`)[0];

/** A label, a control and what to know about it. The control gets the attributes that connect them. */
export function Field({ label, hint, error, children }: FieldProps & { children: (attributes: { id: string; "aria-describedby"?: string; "aria-invalid"?: boolean }) => ComponentChildren }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, "aria-describedby": hint || error ? `${id}-hint` : undefined, "aria-invalid": error ? true : undefined })}
      {(hint || error) && <span id={`${id}-hint`} class={error ? "hint k-fail" : "hint"}>{error ?? hint}</span>}
    </div>
  );
}

type TextProps = FieldProps & { value: string; onValue(value: string): void; rows?: number } & {
  type?: "text" | "datetime-local" | "date" | "number" | "url"; required?: boolean; maxLength?: number; autocomplete?: "off"; placeholder?: string; min?: string; max?: string; spellcheck?: boolean;
};

export function TextField({ label, hint, error, value, onValue, rows, ...rest }: TextProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(attributes) => rows
        ? <textarea {...attributes} rows={rows} value={value} onInput={(e) => onValue(e.currentTarget.value)} required={rest.required} maxLength={rest.maxLength} />
        : <input {...(rest as InputHTMLAttributes<HTMLInputElement>)} {...attributes} value={value} onInput={(e) => onValue(e.currentTarget.value)} />}
    </Field>
  );
}

export function SelectField({ label, hint, error, value, onValue, options }: FieldProps & { value: string; onValue(value: string): void; options: readonly (readonly [value: string, title: string])[] }) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(attributes) => <select {...attributes} value={value} onChange={(e) => onValue(e.currentTarget.value)}>{options.map(([v, title]) => <option key={v} value={v}>{title}</option>)}</select>}
    </Field>
  );
}

export function CheckField({ label, checked, onValue, disabled }: { label: ComponentChildren; checked: boolean; onValue(on: boolean): void; disabled?: boolean }) {
  return <label class="check"><input type="checkbox" checked={checked} disabled={disabled} onChange={(e) => onValue(e.currentTarget.checked)} /> {label}</label>;
}

/** Exclusive choices of a filter that the address keeps. The first is the default, with an empty value. A choice clears another filter that belongs to one of them. */
export function FilterTabs({ label, name, value, options, clears }: { label: string; name: string; value: string; clears?: string; options: readonly (readonly [value: string, title: ComponentChildren, count?: number])[] }) {
  return (
    <div class="tabs" role="group" aria-label={label}>
      {options.map(([v, title, count]) => (
        <button key={v} type="button" aria-pressed={value === v} onClick={() => setQuery({ [name]: v, ...(clears && { [clears]: undefined }) })}>{title}{count !== undefined && <span class="tab-count"> {count.toLocaleString()}</span>}</button>
      ))}
    </div>
  );
}

/** A choice of a filter that the address keeps. */
export function FilterSelect({ label, name, value, options }: { label: string; name: string; value: string; options: readonly (readonly [value: string, title: string])[] }) {
  return (
    <label class="filter">{label}: <select value={value} onChange={(e) => setQuery({ [name]: e.currentTarget.value })}>{options.map(([v, title]) => <option key={v} value={v}>{title}</option>)}</select></label>
  );
}

/** A text of a filter. The address keeps it once typing pauses, or the field is left. */
export function FilterText({ label, name, value, type = "search" }: { label: string; name: string; value: string; type?: "search" | "text" | "date" }) {
  const [text, setText] = useState(value);
  const timer = useRef(0);
  const sent = useRef(value); // what the address has by this field: it comes back while typing goes on
  useEffect(() => {
    if (value === sent.current) return;
    sent.current = value;
    setText(value);
  }, [value]);
  const send = (now: string) => {
    clearTimeout(timer.current);
    if (now === sent.current) return;
    sent.current = now;
    setQuery({ [name]: now });
  };
  const type_ = (now: string) => {
    setText(now);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => send(now), 250);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <span class="search-field">
      {type === "search" && <Glyph sign="search" />}
      <input {...({ type } as InputHTMLAttributes<HTMLInputElement>)} aria-label={label} placeholder={label} value={text} onInput={(e) => type_(e.currentTarget.value)} onChange={(e) => send(e.currentTarget.value)} />
    </span>
  );
}

/** Text that outlives a reload of the page, as when the user has to sign in again; undefined while there is none. */
export function useKept(key: string): [string | undefined, (text: string | undefined) => void] {
  const name = `matoolkit:draft:${key}`;
  const [text, set] = useState(() => sessionStorage.getItem(name) ?? undefined);
  return [text, (now) => {
    set(now);
    try {
      now === undefined ? sessionStorage.removeItem(name) : sessionStorage.setItem(name, now);
    } catch {
      // It is larger than the browser keeps: it stays on the page alone.
    }
  }];
}

/** The text of a field that outlives a reload of the page. */
export function useDraft(key: string, initial = ""): [string, (text: string) => void] {
  const [kept, keep] = useKept(key);
  return [kept ?? initial, (now) => keep(now === initial ? undefined : now)];
}
