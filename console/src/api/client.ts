// Calls of the admin API, typed by its OpenAPI document.
import createClient, { type Client, type Middleware } from "openapi-fetch";
import type { components, paths } from "./schema";
import type { Session } from "../session";

export type Api = Client<paths>;
export type Schema<Name extends keyof components["schemas"]> = components["schemas"][Name];

/** An answer of the API that is no success, with what it says to do. */
export class ApiError extends Error {
  constructor(readonly status: number, readonly code: string, detail: string, readonly traceId: string, readonly retryAfter: number, readonly problems: Schema<"InputProblem">[]) {
    super(detail);
  }
}

// The last answers that have an ETag: an unchanged answer comes without a body, and costs the API one query.
const kept = 60;

export function createApi(session: Session): Api {
  const api = createClient<paths>({ baseUrl: "/api", querySerializer: { array: { style: "form", explode: false } } });
  const answers = new Map<string, { etag: string; text: string }>();
  const middleware: Middleware = {
    async onRequest({ request }) {
      request.headers.set("Authorization", `Bearer ${await session.token()}`);
      const known = request.method === "GET" && answers.get(request.url);
      if (known) request.headers.set("If-None-Match", known.etag);
      return request;
    },
    async onResponse({ request, response }) {
      const known = answers.get(request.url);
      if (response.status === 304 && known) return new Response(known.text, { headers: { "Content-Type": "application/json" } });
      const etag = response.headers.get("ETag");
      if (response.ok) {
        if (request.method !== "GET" || !response.headers.get("Content-Type")?.startsWith("application/json")) return;
        answers.delete(request.url);
        if (etag) answers.set(request.url, { etag, text: await response.clone().text() });
        if (answers.size > kept) answers.delete(answers.keys().next().value!);
        return;
      }
      const problem = (await response.clone().json().catch(() => ({}))) as Partial<Schema<"Problem">>;
      throw new ApiError(response.status, problem.error ?? "", problem.detail ?? `The API answered ${response.status}.`,
        response.headers.get("X-Trace-Id") ?? "", Number(response.headers.get("Retry-After") ?? 0), problem.problems ?? []);
    },
  };
  api.use(middleware);
  return api;
}

/** The data of an answer. The middleware has thrown for every answer without. */
export async function data<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}
