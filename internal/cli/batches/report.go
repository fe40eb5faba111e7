package batches

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
	"github.com/matoolkit/matoolkit/internal/report"
)

func reportCommand(c *runner) *cobra.Command {
	var format, path string
	var force bool
	cmd := &cobra.Command{
		Use: "report <id>", Short: "Write a report on a batch as CSV or HTML", Args: command.Needs("the id"),
		Long: `Writes a report with the outcome of each member, the results of their checks and the status
of each step, to standard output or to a file.

  csv   one row per member, one column per step and one per column of the members' data, for a
        spreadsheet; no cell is a formula
  html  one page for readers without access to the system: the phases with their counts,
        then the members with one column per phase, the failed members first

Without --format the extension of the file decides: .csv or .html. Standard output gets csv.`,
		Example: `  matoolkit batch report 42 > batch-42.csv
  matoolkit batch report 42 --file batch-42.html`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if path == "-" {
				path = ""
			}
			if path == "" && !c.Human() {
				return exit.Usagef("the report goes to standard output; --output describes the file in --file. Choose the format of the report with --format")
			}
			f, err := reportFormat(format, path)
			if err != nil {
				return err
			}
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if path == "" {
				return s.Client.Report(cmd.Context(), id, f, c.Env.Stdout)
			}
			size := c.Receiving()
			err = command.SaveWhole(path, force, func(w io.Writer) error {
				size.To = w
				defer size.End()
				return s.Client.Report(cmd.Context(), id, f, size)
			})
			if err != nil {
				return err
			}
			t := c.Table("file", "bytes")
			t.Row(path, size.Bytes)
			return c.Done(map[string]any{"file": path, "bytes": size.Bytes}, t, "", "Wrote the report on batch %d to %s.", id, path)
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "the format of the report: "+render.OneOf(report.Formats))
	cmd.Flags().StringVarP(&path, "file", "f", "", "the file to write; - is standard output")
	cmd.Flags().BoolVar(&force, "force", false, "overwrite an existing file")
	command.CompleteOption(cmd, "format", command.Fixed(string(report.CSV), string(report.HTML)))
	return cmd
}

// reportFormat returns the format of a report: --format, or the one of the file's extension.
// Without either it fails.
func reportFormat(format, path string) (report.Format, error) {
	if format != "" && !slices.Contains(report.Formats, report.Format(format)) {
		return "", exit.Usagef("--format is %q; use %s", format, render.OneOf(report.Formats))
	}
	if format != "" {
		return report.Format(format), nil
	}
	switch extension := strings.ToLower(filepath.Ext(path)); {
	case extension == ".html" || extension == ".htm":
		return report.HTML, nil
	case extension == ".csv" || path == "":
		return report.CSV, nil
	}
	return "", exit.Usagef("%s: unknown extension; give --format: %s", path, render.OneOf(report.Formats))
}
