// Command pack makes the zip file of the Functions app that is deployed to Azure, of a
// folder in which the app is staged: host.json, handler and <function>/function.json,
// and nothing else. "make package" stages the folder and calls it.
//
// It refuses an app that would fail in Azure, or that holds other files, and then changes
// nothing.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Getenv, os.Stdout, os.Stderr)) }

// run returns the exit status: 0, 1 where the app cannot be packed, 2 for wrong usage.
func run(args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("pack", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("app", "", "directory of the staged app")
	arch := flags.String("arch", "", "architecture of the handler: amd64 or arm64")
	to := flags.String("out", "", "zip file to write; its SHA-256 goes to a file beside it that ends in .sha256")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *dir == "" || *arch == "" || *to == "" || flags.NArg() > 0 {
		fmt.Fprintln(stderr, "usage: pack -app DIR -arch amd64|arm64 -out FILE.zip")
		return 2
	}
	if err := pack(*dir, *arch, *to, getenv); err != nil {
		fmt.Fprintln(stderr, "pack:", err)
		return 1
	}
	info, err := os.Stat(*to)
	if err != nil {
		fmt.Fprintln(stderr, "pack:", err)
		return 1
	}
	fmt.Fprintf(stdout, "%s: %d bytes\n", *to, info.Size())
	return 0
}

func pack(dir, arch, to string, getenv func(string) string) error {
	at, err := packTime(getenv)
	if err != nil {
		return err
	}
	entries, err := contents(dir)
	if err != nil {
		return err
	}
	if err := deployable(dir, arch); err != nil {
		return err
	}
	if err := writeZip(to, entries, at); err != nil {
		return err
	}
	return writeSum(to+".sha256", to) // the sum of an earlier file does not fit until then
}
