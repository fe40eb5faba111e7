// The page signs its visitor in with an unmodified MSAL. A test calls its functions; each returns an
// object with what MSAL answered, or with the code of its error.
const config = fetch("/config.json").then((r) => r.json());

let client;

const outcome = async (promise) => {
  try {
    const r = await promise;
    return { user: r.account.username, nonce: r.idTokenClaims.nonce, scopes: r.scopes, token: r.accessToken, cached: r.fromCache };
  } catch (e) {
    return { error: e.errorCode || e.name, detail: e.errorMessage || e.message };
  }
};

const account = () => client.getAllAccounts()[0];

async function start() {
  const c = await config;
  client = new msal.PublicClientApplication({
    auth: { clientId: c.clientId, authority: c.authority, knownAuthorities: [new URL(c.authority).host], redirectUri: c.redirectUri, postLogoutRedirectUri: c.redirectUri },
    cache: { cacheLocation: "sessionStorage" },
  });
  await client.initialize();
  const answer = await outcome(client.handleRedirectPromise().then((r) => r || { account: account() || { username: "" }, idTokenClaims: {} }));
  document.getElementById("account").textContent = answer.user || "";
  document.getElementById("error").textContent = answer.error || "";
  window.started = answer;
}

window.signIn = async (extra) => {
  const c = await config;
  client.loginRedirect({ scopes: [c.scope], ...extra });
};
window.silent = async (extra) => {
  const c = await config;
  return outcome(client.acquireTokenSilent({ scopes: [c.scope], account: account(), redirectUri: c.bridgeUri, ...extra }));
};
window.single = async () => {
  const c = await config;
  return outcome(client.ssoSilent({ scopes: [c.scope], redirectUri: c.bridgeUri, loginHint: c.user }));
};
window.signOut = () => client.logoutRedirect();

start();
