// Package problem has the errors of use cases: a code of the admin API, a message for people and,
// for bad input, every problem with its place. Explain turns the errors of the store, the bus and
// the engine into one; edges call it once.
package problem
