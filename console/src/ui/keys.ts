// Single keys that do something anywhere on a page, outside of fields. They can be switched off.
import { useEffect, useRef } from "preact/hooks";

const setting = "matoolkit:keys";
export const keysOn = () => localStorage.getItem(setting) !== "off";
export const switchKeys = (on: boolean) => (on ? localStorage.removeItem(setting) : localStorage.setItem(setting, "off"));

const inField = (e: KeyboardEvent) => /^(INPUT|TEXTAREA|SELECT)$/.test((e.target as Element).tagName) || (e.target as HTMLElement).isContentEditable;

const pairTime = 1500; // milliseconds between the keys of a pair

let before = ""; // the key before, for the pairs that begin with g
let forget = 0;

/** Keys and what they do: { "j": next, "g w": showWaves }. They rest in fields and while a dialog is open. */
export function useKeys(keys: Record<string, (e: KeyboardEvent) => void>) {
  const now = useRef(keys);
  now.current = keys;
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || !keysOn() || inField(e) || document.querySelector("dialog[open]")) return;
      const act = now.current[before ? `${before} ${e.key}` : e.key];
      if (!act) return;
      e.preventDefault();
      act(e);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}

/** Notes the first key of a pair. It is called once, by the page, before the views listen. */
export function listenForPairs() {
  document.addEventListener("keydown", (e) => { if (e.key.length > 1 || inField(e)) before = ""; }, true);
  document.addEventListener("keyup", (e) => {
    if (inField(e) || e.key.length !== 1) return;
    before = e.key === "g" && before !== "g" ? "g" : "";
    clearTimeout(forget);
    forget = window.setTimeout(() => { before = ""; }, pairTime);
  }, true);
}
