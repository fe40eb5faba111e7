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
		Use: "report <id>", Short: "Write a report on a batch, its members by their steps", Args: command.Needs("the id"),
		Long: `Write a report on a batch: each member with their status, the error of those who
failed, and how every step of every phase went. It goes to standard output, or to a
file.

As csv it is for a spreadsheet: one row a member, one column a step, and no cell is
taken for a formula. As html it is one page for people without access to the system:
the phases with their counts, and the members, those who failed first. Without
--format the name of the file decides: .csv or .html; standard output gets csv.`,
		Example: `  matoolkit batch report 42 > batch-42.csv
  matoolkit batch report 42 --file batch-42.html`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := command.BatchID(args[0])
			if err != nil {
				return err
			}
			if path == "-" {
				path = ""
			}
			if path == "" && c.Format != render.FormatTable {
				return exit.Usagef("the report itself goes to standard output; --output tells of a file that --file names, and what is in the report is chosen with --format")
			}
			f, err := reportFormat(format, path)
			if err != nil {
				return err
			}
			s, err := c.Session()
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
			return c.Print(map[string]any{"file": path, "bytes": size.Bytes}, t)
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "what to write: "+render.OneOf(report.Formats))
	cmd.Flags().StringVarP(&path, "file", "f", "", "where to write; - is standard output")
	cmd.Flags().BoolVar(&force, "force", false, "write over a file that exists")
	command.CompleteOption(cmd, "format", command.Fixed(string(report.CSV), string(report.HTML)))
	return cmd
}

// reportFormat is the format that was asked for, by name or by that of the file. A name
// that says neither is refused: what is in the file would not be what it is called.
func reportFormat(format, path string) (report.Format, error) {
	if format != "" && !slices.Contains(report.Formats, report.Format(format)) {
		return "", exit.Usagef("--format is %q; it can be %s", format, render.OneOf(report.Formats))
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
	return "", exit.Usagef("%s: its name ends neither in .csv nor in .html; say with --format what to write: %s", path, render.OneOf(report.Formats))
}
