// What every view needs: the API, the signed-in user, and what waits for a person.
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Api, Schema } from "./api/client";
import type { Live } from "./live";
import type { Session } from "./session";

export interface Shared {
  api: Api;
  session: Session;
  me?: Schema<"Me">;
  summary: Live<Schema<"Summary">>;
}

export const SharedContext = createContext<Shared | null>(null);

export function useShared(): Shared {
  return useContext(SharedContext)!;
}

/** Whether an action is open to the user, and why not. The API's actions have this shape. */
export interface Permit {
  allowed: boolean;
  reason?: string;
}

const roles = { read: "", request: "Requester, RequesterForAll, Operator or Admin", request_for_all: "RequesterForAll, Operator or Admin", operate: "Operator or Admin", approve: "Approver or Admin", administer: "Admin" };

/** What the role of the user permits, for actions that the API lists with no object. */
export function usePermit(permission: keyof typeof roles): Permit {
  const { me } = useShared();
  if (!me || me.permissions.includes(permission)) return { allowed: me !== undefined };
  return { allowed: false, reason: `This needs the app role ${roles[permission]}; you have ${me.roles.join(", ") || "none"}.` };
}

/** One of the actions that the API lists with an object. */
export function permit(actions: Schema<"Action">[] | undefined, name: Schema<"Action">["name"]): Permit {
  return actions?.find((a) => a.name === name) ?? { allowed: false };
}
