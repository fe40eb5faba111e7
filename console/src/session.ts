// The session of the signed-in user: tokens for the admin API by authorization code with PKCE. Tokens are
// kept by MSAL in sessionStorage, for this tab alone.
import { InteractionRequiredAuthError, PublicClientApplication, type AccountInfo } from "@azure/msal-browser";
import { Unreachable } from "./api/client";

export interface ConsoleConfig {
  authority: string;
  clientId: string;
  scope: string;
}

export interface Session {
  userName: string;
  /** A token for the admin API. It fails with SignInNeeded if the user has to sign in again. */
  token(): Promise<string>;
  /** Leaves the page to sign in again, and comes back to the same address. */
  signIn(): Promise<void>;
  signOut(): Promise<void>;
}

export class SignInNeeded extends Error {
  constructor() {
    super("Your sign-in has ended. Sign in again: this page keeps what you typed.");
  }
}

// The errors of MSAL that say that Entra ID did not answer.
const unanswered = ["no_network_connectivity", "network_error", "get_request_failed", "post_request_failed"];

const page = () => `${location.origin}/api/console/`;

const isLoopback = (host: string) => host === "localhost" || host.startsWith("127.");

/**
 * The endpoints of a directory on this machine. Browsers do not trust its certificate, and MSAL takes no
 * authority without TLS, so MSAL is told that the endpoints of the authority speak HTTP.
 */
function localMetadata(authority: URL) {
  const issuer = authority.href.replace(/\/$/, "");
  const base = issuer.replace("https:", "http:");
  return JSON.stringify({
    issuer: `${issuer}/v2.0`,
    authorization_endpoint: `${base}/oauth2/v2.0/authorize`,
    token_endpoint: `${base}/oauth2/v2.0/token`,
    end_session_endpoint: `${base}/oauth2/v2.0/logout`,
    jwks_uri: `${base}/discovery/v2.0/keys`,
  });
}

/** Signs the user in. The result is null while the page is being left for that. */
export async function startSession(config: ConsoleConfig): Promise<Session | null> {
  const authority = new URL(config.authority);
  const client = new PublicClientApplication({
    auth: {
      clientId: config.clientId,
      authority: config.authority,
      knownAuthorities: [authority.host],
      redirectUri: page(),
      postLogoutRedirectUri: page(),
      ...(isLoopback(authority.hostname) && { authorityMetadata: localMetadata(authority) }),
    },
    cache: { cacheLocation: "sessionStorage" },
  });
  await client.initialize();
  const answer = await client.handleRedirectPromise();
  const account: AccountInfo | undefined = answer?.account ?? client.getAllAccounts()[0];
  const scopes = [config.scope];
  if (!account) {
    await client.loginRedirect({ scopes });
    return null;
  }
  return {
    userName: account.username,
    async token() {
      try {
        return (await client.acquireTokenSilent({ scopes, account })).accessToken;
      } catch (e) {
        const code = (e as { errorCode?: string }).errorCode ?? "";
        if (e instanceof InteractionRequiredAuthError || code === "timed_out") throw new SignInNeeded();
        throw unanswered.includes(code) ? new Unreachable() : e;
      }
    },
    signIn: () => client.acquireTokenRedirect({ scopes, account }),
    signOut: () => client.logoutRedirect({ account }),
  };
}
