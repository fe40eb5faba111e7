package cli

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/buildinfo"
	"github.com/matoolkit/matoolkit/internal/cli/command"
)

// programVersion is the version of this program in structured output.
type programVersion struct {
	Version  string `json:"version"`
	Go       string `json:"goVersion"`
	Platform string `json:"platform"`
}

func programVersionCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Show the version of matoolkit", Args: command.Needs(),
		Example: `  matoolkit version
  matoolkit version --output json`,
		RunE: func(*cobra.Command, []string) error {
			v := programVersion{Version: buildinfo.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
			t := c.Table("version", "go", "platform")
			t.Row(v.Version, v.Go, v.Platform)
			return c.Print(v, t)
		},
	}
}
