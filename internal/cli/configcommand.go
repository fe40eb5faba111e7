package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/settings"
)

func configCommand(c *console) *cobra.Command {
	show := &cobra.Command{
		Use: "show", Short: "Show the settings and where each comes from", Args: command.Needs(),
		Long: `Show the settings and where each comes from: an option, a variable of the
environment, the configuration file or the default, in that order.`,
		Example: `  matoolkit config show
  matoolkit config show --output json`,
		RunE: func(*cobra.Command, []string) error {
			all, err := c.Settings()
			if err != nil {
				return err
			}
			t := c.Table("setting", "value", "source", "variable")
			for i, s := range all {
				t.Row(s.Key, s.Value, s.Source, settings.Definitions[i].Variable)
			}
			return c.Print(all, t)
		},
	}
	set := &cobra.Command{
		Use: "set <key> <value>", Short: "Set a setting in the configuration file", Args: command.Needs("the key", "the value"),
		Long: "Set a setting in the configuration file. An empty value takes it out.\n\nThe keys:\n  " + strings.ReplaceAll(settings.Keys(), ", ", "\n  "),
		Example: `  matoolkit config set api-url https://my-api.azurewebsites.net
  matoolkit config set ca-file ""`,
		RunE: func(_ *cobra.Command, args []string) error { return c.setConfig(args[0], args[1]) },
	}
	path := &cobra.Command{
		Use: "path", Short: "Show where the configuration file is", Args: command.Needs(),
		Long: `Show where the configuration file is: in the folder that MATOOLKIT_HOME names, or in
.matoolkit of your home folder. It need not exist yet; matoolkit config set writes it.`,
		Example: `  matoolkit config path
  cat "$(matoolkit config path)"`,
		RunE: func(*cobra.Command, []string) error {
			path, err := c.ConfigFile()
			if err != nil {
				return err
			}
			if c.Structured() {
				return c.Document(map[string]string{"path": path})
			}
			_, err = fmt.Fprintln(c.Env.Stdout, path)
			return err
		},
	}
	return command.Group("config", "Show and set the configuration", command.Lists(show), set, path)
}

func (c *console) setConfig(key, value string) error {
	if !settings.Known(key) {
		return exit.Usagef("there is no setting %q; there are %s", key, settings.Keys())
	}
	if err := settings.Check(key, value); err != nil {
		return exit.Usage(err)
	}
	path, err := c.ConfigFile()
	if err != nil {
		return err
	}
	values, err := settings.Read(path)
	if err != nil {
		return err
	}
	if values[key] = value; value == "" {
		delete(values, key)
	}
	if err := settings.Write(path, values); err != nil {
		return fmt.Errorf("the configuration: %w", err)
	}
	if value == "" {
		c.Notice("%s is no longer set in %s", key, path)
		return nil
	}
	c.Notice("%s is set in %s", key, path)
	return nil
}
