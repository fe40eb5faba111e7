// Package matrix holds every function of the catalogue to every fault of the tenant:
// a table of the functions, and tests that go through it fault by fault, with the
// clients that the worker has against the local tenant. What counts is the state of
// the tenant in the end as much as the answers.
//
// It has tests only, and is a package of its own because it needs the functions of
// both services, which know nothing of each other.
package matrix
