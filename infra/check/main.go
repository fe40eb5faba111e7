// Program check tells what is wrong with the Bicep files and parameter files below a
// directory, without a compiler and without Azure: see package bicep.
package main

import (
	"context"
	"errors"
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
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

const usage = `Checks the Bicep files and parameter files below a directory (infra by default)
against each other and against Azure's resource types.

  check [directory]                     tell what is wrong
  check -declarations [directory]       print what every file declares, as JSON
  check -azmcp program [directory]      tell also where the snapshot of the types differs from azmcp
  check -azmcp program -write [dir]     bring the snapshot to what azmcp says of the types that are used

The exit status is 1 if something was found, 2 if something could not be done.

`

// run gives the exit status: 0, 1 for findings, 2 for what could not be done.
func run(ctx context.Context, arguments []string, out, problems io.Writer) int {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.Usage = func() { fmt.Fprint(problems, usage); flags.PrintDefaults() }
	declared := flags.Bool("declarations", false, "print what every file declares, as JSON")
	azmcp := flags.String("azmcp", "", "the `program` that describes Azure's types, from @azure/mcp")
	write := flags.Bool("write", false, "write the snapshot of the types")
	switch err := flags.Parse(arguments); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 1:
		fmt.Fprintf(problems, "check: one directory is checked, not %d\n", flags.NArg())
		return 2
	case *write && *azmcp == "":
		fmt.Fprintln(problems, "check: -write needs -azmcp")
		return 2
	}
	dir := "infra"
	if flags.NArg() > 0 {
		dir = flags.Arg(0)
	}
	report, err := check(dir)
	if err == nil && *declared {
		err = printDeclarations(report, out)
	}
	types, different := filepath.Join(dir, "bicep", "types"), 0
	switch {
	case err != nil || *azmcp == "":
	case *write:
		err = writeTypes(ctx, *azmcp, types, report.ResourceTypes(), out)
	default:
		different, err = compareTypes(ctx, *azmcp, types, report.ResourceTypes(), out)
	}
	switch {
	case err != nil:
		fmt.Fprintln(problems, "check:", err)
		return 2
	case *declared || *write:
		return 0
	}
	summary(report, out)
	if len(report.Findings)+different > 0 {
		return 1
	}
	return 0
}

// summary writes the findings and a summary.
func summary(report *bicep.Report, out io.Writer) {
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
}

// check reads a directory. What its files load may be anywhere in the repository, so
// that is what the paths begin with.
func check(dir string) (*bicep.Report, error) {
	types, err := bicep.Embedded()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); err != nil {
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
	report, err := bicep.Check(os.DirFS(root), filepath.ToSlash(below), types)
	if err == nil && len(report.Files) == 0 {
		err = fmt.Errorf("%s holds no .bicep file", dir)
	}
	return report, err
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
