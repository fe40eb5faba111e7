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

/** The API did not answer: the network or the handler is away. */
export class Unreachable extends Error {
  constructor() {
    super("The API cannot be reached. Check the network; the page asks again by itself, and keeps what you typed.");
  }
}

/** The error that an answer without success is. */
export async function problemOf(response: Response): Promise<ApiError> {
  const problem = (await response.clone().json().catch(() => ({}))) as Partial<Schema<"Problem">>;
  return new ApiError(response.status, problem.error ?? "", problem.detail ?? `The API answered ${response.status}.`,
    response.headers.get("X-Trace-Id") ?? "", Number(response.headers.get("Retry-After") ?? 0), problem.problems ?? []);
}

interface Known {
  etag: string;
  text: string;
}

// The last answers that have an ETag: an unchanged answer comes without a body, and costs the API one query.
const kept = 60;

export function createApi(session: Session): Api {
  const api = createClient<paths>({ baseUrl: "/api", querySerializer: { array: { style: "form", explode: false } } });
  const answers = new Map<string, Known>(); // the one that was used longest ago is the first
  const asked = new WeakMap<Request, Known>(); // what a request has in If-None-Match, although answers may have dropped it since
  const keep = (url: string, answer: Known) => {
    answers.delete(url);
    answers.set(url, answer);
    if (answers.size > kept) answers.delete(answers.keys().next().value!);
  };
  const middleware: Middleware = {
    async onRequest({ request }) {
      request.headers.set("Authorization", `Bearer ${await session.token()}`);
      const known = request.method === "GET" && answers.get(request.url);
      if (known) {
        request.headers.set("If-None-Match", known.etag);
        asked.set(request, known);
      }
      return request;
    },
    async onResponse({ request, response }) {
      const known = asked.get(request);
      if (response.status === 304 && known) {
        keep(request.url, known);
        return new Response(known.text, { headers: { "Content-Type": "application/json" } });
      }
      if (!response.ok) throw await problemOf(response);
      if (request.method !== "GET" || !response.headers.get("Content-Type")?.startsWith("application/json")) return;
      const etag = response.headers.get("ETag");
      if (etag) keep(request.url, { etag, text: await response.clone().text() });
      else answers.delete(request.url);
    },
  };
  api.use(middleware);
  return api;
}

/** The data of an answer. The middleware has thrown for every answer without. */
export async function data<T>(answer: Promise<{ data?: T }>): Promise<T> {
  try {
    return (await answer).data as T;
  } catch (e) {
    throw e instanceof TypeError ? new Unreachable() : e; // what fetch says, also in the middle of a body
  }
}
