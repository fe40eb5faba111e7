// Package e2e holds the product to its promises as an administrator meets them:
// its tests build the three programs, run them as processes of their own and look
// at the outcome in the API, in the tenant, in the broker and in the store. Some
// end a process with kill -9 on the way; a storm ends all of them, many times over,
// while the tenant throttles and lags. Others have a list of people drive a runbook
// through weeks, by a clock that is moved.
//
// It has no code but tests. It knows the programs by their command lines and the
// system by its protocols.
package e2e
