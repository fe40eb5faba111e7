// What can be written at a place of a runbook: its keys and values, the functions of the workers with their
// parameters and results, columns and outputs.
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { Schema } from "../api/client";
import { placeOf, type Place } from "./context";
import format from "./format.json";

/** What the completion knows beside the format. */
export interface Known {
  /** By the id of the worker. */
  functions: ReadonlyMap<string, Schema<"Function">[]>;
  outline?: Schema<"RunbookOutline">;
}

interface Form {
  description?: string;
  properties?: Record<string, Form>;
  required?: string[];
  additionalProperties?: Form | boolean;
  items?: Form;
  enum?: (string | number | boolean)[];
  type?: string;
  allOf?: Form[];
  anyOf?: Form[];
  $ref?: string;
}

const definitions = format.definitions as unknown as Record<string, Form>;

/** The form with what it refers to. */
function resolve(form: Form | undefined): Form {
  if (!form) return {};
  if (form.$ref) return resolve(definitions[form.$ref.replace("#/definitions/", "")]);
  const whole = [...(form.allOf ?? []), ...(form.anyOf ?? [])].map(resolve);
  return whole.reduce<Form>((sum, f) => ({ ...sum, properties: sum.properties ?? f.properties, items: sum.items ?? f.items, enum: sum.enum ?? f.enum, type: sum.type ?? f.type, required: sum.required?.length ? sum.required : f.required, additionalProperties: sum.additionalProperties ?? f.additionalProperties }), form);
}

function formAt(path: string[]): Form {
  let form = resolve({ $ref: "#/definitions/runbook" });
  for (const name of path) {
    const next = form.properties?.[name] ?? (typeof form.additionalProperties === "object" ? form.additionalProperties : undefined);
    form = resolve(next);
    while (form.items) form = resolve(form.items);
  }
  return form;
}

const specials: Completion[] = [
  ["_batch_id", "Number of the batch"], ["_batch_start_time", "Start of the batch"], ["_batch_owner", "Owner of the batch"], ["_batch_shadow", "Whether the batch is a shadow"], ["_phase_members", "In on_complete: members of the phase"],
  ["_phase_succeeded", "In on_complete: members who succeeded"], ["_phase_failed", "In on_complete: members who failed"], ["_phase_cancelled", "In on_complete: members who were cancelled"],
  ["_outputs", "In on_complete: key of the artifact with the members' outputs"],
].map(([label, detail]) => ({ label: label!, detail, type: "constant" }));

function variables({ outline }: Known): Completion[] {
  return [
    ...(outline?.columns ?? []).map((c) => ({ label: c.name, detail: c.optional ? "column, optional" : "column", type: "property", boost: 2 })),
    ...(outline?.outputs ?? []).map((name) => ({ label: name, detail: "output of a step", type: "variable", boost: 1 })),
    ...specials,
  ];
}

function functionsOf(known: Known, worker: string | undefined): { worker: string; function: Schema<"Function"> }[] {
  const own = worker && known.functions.get(worker);
  const all = own ? [[worker, own] as const] : [...known.functions];
  return all.flatMap(([id, functions]) => functions.map((f) => ({ worker: id, function: f })));
}

function called(known: Known, step: Map<string, string> | undefined): Schema<"Function"> | undefined {
  const name = step?.get("function")?.toLowerCase();
  return functionsOf(known, step?.get("worker_id")).find((f) => f.function.name.toLowerCase() === name)?.function;
}

/** The explanation of a completion, as plain text. */
const info = (text: string | undefined) => text?.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", "");

function keys(place: Place, known: Known): Completion[] {
  const last = place.path.at(-1);
  if (last === "params") {
    return (called(known, place.outer[0])?.params ?? []).map((p) => ({
      label: p.name, apply: `${p.name}: `, type: "property", detail: [p.type, p.required ? "required" : "", p.secret ? "secret" : ""].filter(Boolean).join(", "), info: info(p.description), boost: p.required ? 1 : 0,
    }));
  }
  if (last === "output_params") return [];
  const form = formAt(place.path);
  return Object.entries(form.properties ?? {}).filter(([name]) => !place.siblings.has(name)).map(([name, f]) => {
    const own = resolve(f);
    const nested = own.type === "array" || own.type === "object" || own.properties !== undefined;
    return { label: name, apply: `${name}:${nested ? "" : " "}`, type: "property", detail: form.required?.includes(name) ? "required" : undefined, info: info(f.description), boost: form.required?.includes(name) ? 1 : 0 };
  });
}

function values(place: Place, known: Known): Completion[] {
  const key = place.key!;
  switch (key) {
    case "worker_id":
      return [...known.functions].map(([id, functions]) => ({ label: id, type: "class", detail: `${functions.length} functions` }));
    case "function":
      return functionsOf(known, place.siblings.get("worker_id")).map((f) => ({ label: f.function.name, type: "function", detail: place.siblings.has("worker_id") ? undefined : f.worker, info: info(f.function.description) }));
    case "on_failure":
      return (known.outline?.sections ?? []).filter((s) => s.kind === "rollback").map((s) => ({ label: s.name, type: "constant", detail: "rollback" }));
    case "primary_key": case "display": case "batch_time_column":
      return variables(known).filter((v) => v.detail?.startsWith("column"));
  }
  const last = place.path.at(-1);
  if (last === "output_params") return (called(known, place.outer[0])?.result ?? []).map((r) => ({ label: r.name, type: "property", info: info(r.description) }));
  if (last === "params") {
    const type = called(known, place.outer[0])?.params.find((p) => p.name.toLowerCase() === key.toLowerCase())?.type ?? "";
    const fixed = type === "boolean" ? ["true", "false"] : type.includes("|") ? type.split("|") : [];
    return [...fixed.map((label) => ({ label, type: "constant", boost: 3 })), ...variables(known).map((v) => ({ ...v, label: `{{${v.label}}}`, apply: quoted(v.label) }))];
  }
  const form = resolve(formAt(place.path).properties?.[key]);
  const words = form.enum ?? (form.type === "boolean" ? [true, false] : []);
  return words.map((label) => ({ label: String(label), type: "constant" }));
}

const quoted = (name: string) => `"{{${name}}}"`;

/** A source of completions that asks for what is known when it is needed. */
export function completer(known: () => Known) {
  return (context: CompletionContext): CompletionResult | null => {
    const text = context.state.doc.toString();
    const line = context.state.doc.lineAt(context.pos);
    const written = line.text.slice(0, context.pos - line.from);
    if (/(^|\s)#/.test(written)) return null;
    const template = /\{\{\s*([\w]*)$/.exec(written);
    if (template) return { from: context.pos - template[1]!.length, options: variables(known()).map((v) => ({ ...v, apply: /^\s*\??\}\}/.test(line.text.slice(written.length)) ? v.label : `${v.label}}}` })), validFor: /^\w*$/ };
    const place = placeOf(text, context.pos);
    if (place.key === "when") {
      const word = context.matchBefore(/\w*/)!;
      return word.from < word.to || context.explicit ? { from: word.from, options: variables(known()), validFor: /^\w*$/ } : null;
    }
    if (!context.explicit && place.from === context.pos && place.key === undefined) return null;
    const inQuotes = place.key !== undefined && /["']/.test(text[place.from - 1] ?? "");
    const options = place.key === undefined ? keys(place, known()) : values(place, known());
    if (options.length === 0) return null;
    return { from: place.from, options: inQuotes ? options.map((o) => ({ ...o, apply: o.label })) : options, validFor: /^[\w.{}-]*$/ };
  };
}
