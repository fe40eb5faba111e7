// Program check tells what is wrong with the Bicep files and parameter files below a
// directory, without a compiler and without Azure: see package bicep.
package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/infra/bicep"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

const usage = `Checks the Bicep files and parameter files below a directory (infra by default)
against each other and against Azure's resource types.

  check [directory]

The exit status is 1 if something was found, 2 if something could not be read.
`

// run gives the exit status: 0, 1 for findings, 2 for what could not be done.
func run(arguments []string, out, problems io.Writer) int {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.Usage = func() { fmt.Fprint(problems, usage); flags.PrintDefaults() }
	switch err := flags.Parse(arguments); {
	case err == flag.ErrHelp:
		return 0
	case err != nil:
		return 2
	}
	dir := "infra"
	if flags.NArg() > 0 {
		dir = flags.Arg(0)
	}
	report, err := check(dir)
	if err != nil {
		fmt.Fprintln(problems, "check:", err)
		return 2
	}
	for _, finding := range report.Findings {
		fmt.Fprintln(out, finding)
	}
	resources, modules := 0, 0
	for _, file := range report.Files {
		resources += len(file.Resources)
		modules += len(file.Modules)
	}
	fmt.Fprintf(out, "%d findings: %d files, %d resources of %d types, %d modules, %d parameter files\n",
		len(report.Findings), len(report.Files), resources, len(report.ResourceTypes()), modules, len(report.ParameterFiles))
	for _, file := range slices.Sorted(maps.Keys(report.GivenWhenDeployed)) {
		fmt.Fprintf(out, "%s: to be given when it is deployed: %s\n", file, strings.Join(report.GivenWhenDeployed[file], ", "))
	}
	if len(report.Findings) > 0 {
		return 1
	}
	return 0
}

// check reads a directory. What its files load may be anywhere in the repository, so
// that is what the paths begin with.
func check(dir string) (*bicep.Report, error) {
	types, err := bicep.Embedded()
	if err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root := repository(absolute)
	below, err := filepath.Rel(root, absolute)
	if err != nil {
		return nil, err
	}
	return bicep.Check(os.DirFS(root), filepath.ToSlash(below), types)
}

// repository is the nearest directory above one that holds go.mod, or itself.
func repository(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}
