// Package entra is Entra ID on one machine: an HTTPS server on loopback that
// issues and refuses tokens the way the real token service does, for the
// programs, the other local services and the tests. Its clients are the real
// ones (azidentity, and the verifier of the admin API), which reach it by
// configuration only: an authority host and an additional CA certificate.
//
// It serves OpenID configuration and keys of both token versions, instance
// discovery, client credentials (secret or certificate), the device code flow
// with a page to approve a code on, the authorization code flow of single-page
// applications with PKCE, sign-out, and refresh tokens. ManagedIdentity is the
// endpoint at which a process in Azure asks for its identity. It refuses what it
// does not know with the error document of the real service. Users have no
// passwords: a visitor of the page approves as any user, so the server listens
// on loopback only.
//
// The protocol was written from public documentation and from what azidentity
// sends; it was not compared with the live service. The texts of errors are
// ours, their codes and shape are the documented ones.
package entra
