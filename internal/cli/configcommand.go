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
		Use: "show", Short: "Show the settings and their sources", Args: command.Needs(),
		Long: `Shows each setting and its source: an option, an environment variable, the configuration
file or the default, in that order.`,
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
		Use: "set <key> <value>", Short: "Change a setting in the configuration file", Args: command.Needs("the key", "the value"),
		Long: "Sets a setting. An empty value removes it. The keys:\n\n  " + strings.ReplaceAll(settings.Keys(), ", ", "\n  "),
		Example: `  matoolkit config set api-url https://my-api.azurewebsites.net
  matoolkit config set ca-file ""`,
		RunE: func(_ *cobra.Command, args []string) error { return c.setConfig(args[0], args[1]) },
	}
	path := &cobra.Command{
		Use: "path", Short: "Show the path of the configuration file", Args: command.Needs(),
		Long: `Shows the path of the configuration file: in the folder that MATOOLKIT_HOME names, or in
.matoolkit in your home folder. matoolkit config set creates the file.`,
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
	return command.WithExample(command.Group("config", "Show and change the settings", command.Lists(show), set, path),
		"  matoolkit config set api-url https://my-api.azurewebsites.net\n  matoolkit config show")
}

func (c *console) setConfig(key, value string) error {
	if !settings.Known(key) {
		return exit.Usagef("unknown setting %q: use one of %s", key, settings.Keys())
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
		c.Notice("Removed %s from %s.", key, path)
		return nil
	}
	c.Notice("Set %s in %s.", key, path)
	return nil
}
