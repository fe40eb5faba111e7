import { useEffect, useState } from "preact/hooks";

const narrow = matchMedia("(max-width: 700px)");

/** Whether the window is as narrow as that of a phone. */
export function useNarrow(): boolean {
  const [is, set] = useState(narrow.matches);
  useEffect(() => {
    const update = () => set(narrow.matches);
    narrow.addEventListener("change", update);
    update(); // the window may have changed since the first look
    return () => narrow.removeEventListener("change", update);
  }, []);
  return is;
}
