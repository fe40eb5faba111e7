package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func summaryCommand(c *console) *cobra.Command {
	return command.Shows(&cobra.Command{
		Use: "summary", Short: "Show what needs a person, what runs and what comes next", Args: command.Needs(),
		Long: `Shows three things across all batches that have not ended: what waits for a person, which are
gates, held removals and additions, failed members, silent workers, data sources that cannot be
read and unprocessable messages; the phases that run; and the phases of the next seven days.`,
		Example: `  matoolkit summary
  matoolkit summary --output json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			v, err := s.Client.Summary(cmd.Context())
			if err != nil {
				return err
			}
			attention := c.Table("event", "batch", "phase", "text")
			for _, one := range v.Attention {
				attention.Row(one.Event, optional(one.BatchID), one.Phase, one.Text)
			}
			if !c.Plain() || len(c.Columns) > 0 {
				return c.Print(v, attention)
			}
			running := c.Table("batch", "name", "phase", "members", "succeeded", "failed", "running", "per minute", "waits")
			for _, r := range v.Running {
				waits := ""
				if r.WaitingReason != nil {
					waits = r.WaitingReason.Reason
				}
				running.Row(r.BatchID, r.BatchName, r.Phase, r.Members, r.Succeeded, r.Failed, r.Running, fmt.Sprintf("%.2g", r.PerMinute), waits)
			}
			upcoming := c.Table("starts", "batch", "name", "phase", "members", "approval")
			for _, p := range v.Upcoming {
				approval := ""
				switch {
				case p.Approved != nil:
					approval = "given"
				case p.Approval:
					approval = "needed"
				}
				upcoming.Row(p.StartsAt, p.BatchID, p.BatchName, p.Phase, p.Members, approval)
			}
			for _, part := range []struct {
				title, none string
				n           int
				table       *render.Sheet
			}{
				{"Needs a person:", "Nothing needs a person.", len(v.Attention), attention},
				{"Running:", "Nothing runs.", len(v.Running), running},
				{"Next seven days:", "No phase is due in the next seven days.", len(v.Upcoming), upcoming},
			} {
				if part.n == 0 {
					fmt.Fprintf(c.Env.Stdout, "%s\n\n", part.none)
					continue
				}
				fmt.Fprintf(c.Env.Stdout, "%s\n", part.title)
				if err := part.table.Print(); err != nil {
					return err
				}
				fmt.Fprintln(c.Env.Stdout)
			}
			return nil
		},
	})
}

// optional is a number that is shown unless it is 0.
func optional(n int) any {
	if n == 0 {
		return ""
	}
	return n
}
