// Package buildinfo holds what the build stamps into the programs.
package buildinfo

// Version is the version of the program: of a release its number, else "dev". The linker
// sets it.
var Version = "dev"
