// Calls of the admin API, typed by its OpenAPI document.
import createClient, { type Client, type Middleware } from "openapi-fetch";
import type { components, paths } from "./schema";
import type { Session } from "../session";

export type Api = Client<paths>;
export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];

/** An answer of the API that is no success, with what it says to do. */
export class ApiError extends Error {
  constructor(readonly status: number, readonly code: string, detail: string, readonly traceId: string, readonly retryAfter: number) {
    super(detail);
  }
}

export function createApi(session: Session): Api {
  const api = createClient<paths>({ baseUrl: "/api" });
  const middleware: Middleware = {
    async onRequest({ request }) {
      request.headers.set("Authorization", `Bearer ${await session.token()}`);
      return request;
    },
    async onResponse({ response }) {
      if (response.ok || response.status === 304) return;
      const problem = (await response.clone().json().catch(() => ({}))) as { error?: string; detail?: string };
      throw new ApiError(response.status, problem.error ?? "", problem.detail ?? `The API answered ${response.status}.`,
        response.headers.get("X-Trace-Id") ?? "", Number(response.headers.get("Retry-After") ?? 0));
    },
  };
  api.use(middleware);
  return api;
}

/** The data of an answer. The middleware has thrown for every answer without. */
export async function data<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}
