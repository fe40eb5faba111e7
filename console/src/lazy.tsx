// Views that are fetched when they are opened first, so that the first view stays small.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Failure } from "./ui/failure";
import { reloadPage } from "./update";

export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | undefined;
  return function Lazy(props: P) {
    const [error, setError] = useState(false);
    const [, show] = useState(false);
    useEffect(() => {
      if (!loaded) load().then((view) => { loaded = view; show(true); }, () => setError(true));
    }, []);
    // A view is missing if the handler was updated since the page was opened, or cannot be reached.
    if (error) return <Failure title="This view cannot be loaded" error="The console was updated, or cannot be reached. Reload the page: what you typed stays." retry={reloadPage} verb="Reload" />;
    const View = loaded;
    return View ? <View {...props} /> : <div class="skeleton tall" aria-busy="true" />;
  };
}
