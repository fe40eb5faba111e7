// The console starts here: it reads its configuration, signs the user in and shows the view of the address.
import { render } from "preact";
import { createApi } from "./api/client";
import { startSession, type ConsoleConfig } from "./session";
import { App, applyTheme } from "./app";
import { listenForPairs } from "./ui/keys";
import { Failure } from "./ui/failure";
import "./style/index.css";

applyTheme();
listenForPairs();

async function start(root: HTMLElement) {
  const answer = await fetch("/api/console/config.json").catch(() => {
    throw new Error("The handler cannot be reached. Check the network, then try again.");
  });
  if (!answer.ok) {
    throw new Error(((await answer.json().catch(() => null)) as { detail?: string } | null)?.detail ?? `The handler answered ${answer.status}`);
  }
  const session = await startSession((await answer.json()) as ConsoleConfig);
  if (session) render(<App api={createApi(session)} session={session} />, root);
}

const root = document.getElementById("app")!;
start(root).catch((e: unknown) => {
  render(<Failure title="The console cannot start" error={e} retry={() => location.reload()} />, root);
});
