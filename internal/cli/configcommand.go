package cli

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/apiclient"
)

func configCommand(c *console) *cobra.Command {
	show := &cobra.Command{
		Use: "show", Short: "Show the settings and where each comes from", Args: needs(),
		Long: `Show the settings and where each comes from: an option, a variable of the
environment, the configuration file or the default, in that order.`,
		Example: `  matoolkit config show
  matoolkit config show --output json`,
		RunE: func(*cobra.Command, []string) error {
			all, err := c.settings()
			if err != nil {
				return err
			}
			t := c.table("setting", "value", "source", "variable")
			for i, s := range all {
				t.row(s.Key, s.Value, s.Source, settings[i].variable)
			}
			return c.print(all, t)
		},
	}
	set := &cobra.Command{
		Use: "set <key> <value>", Short: "Set a setting in the configuration file", Args: needs("the key", "the value"),
		Long: "Set a setting in the configuration file. An empty value takes it out.\n\nThe keys:\n  " + strings.ReplaceAll(keys(), ", ", "\n  "),
		Example: `  matoolkit config set api-url https://my-api.azurewebsites.net
  matoolkit config set ca-file ""`,
		RunE: func(_ *cobra.Command, args []string) error { return c.setConfig(args[0], args[1]) },
	}
	path := &cobra.Command{
		Use: "path", Short: "Show where the configuration file is", Args: needs(),
		Long: `Show where the configuration file is: in the folder that MATOOLKIT_HOME names, or in
.matoolkit of your home folder. It need not exist yet; matoolkit config set writes it.`,
		Example: `  matoolkit config path
  cat "$(matoolkit config path)"`,
		RunE: func(*cobra.Command, []string) error {
			path, err := c.configFile()
			if err != nil {
				return err
			}
			if c.structured() {
				return c.document(map[string]string{"path": path})
			}
			_, err = fmt.Fprintln(c.env.Stdout, path)
			return err
		},
	}
	return group("config", "Show and set the configuration", lists(show), set, path)
}

func (c *console) setConfig(key, value string) error {
	if !known(key) {
		return usagef("there is no setting %q; there are %s", key, keys())
	}
	if err := checkSetting(key, value); err != nil {
		return usage(err)
	}
	path, err := c.configFile()
	if err != nil {
		return err
	}
	values, err := readConfig(path)
	if err != nil {
		return err
	}
	if values[key] = value; value == "" {
		delete(values, key)
	}
	if err := writeConfig(path, values); err != nil {
		return fmt.Errorf("the configuration: %w", err)
	}
	if value == "" {
		c.notice("%s is no longer set in %s", key, path)
		return nil
	}
	c.notice("%s is set in %s", key, path)
	return nil
}

// checkSetting refuses a value that cannot be meant, so that a mistake shows when it
// is made.
func checkSetting(key, value string) error {
	switch {
	case value == "":
		return nil
	case key == "api-url":
		_, err := apiclient.New(apiclient.Config{BaseURL: value})
		return err
	case key == "authority":
		if u, err := url.Parse(value); err != nil || u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("authority %q is not an https address", value)
		}
	case key == "token-store" && value != storeAuto && value != storeSystem && value != storeFile:
		return fmt.Errorf("token-store %q is none of auto, system and file", value)
	case key == "auth" && !slices.Contains(authMethods, value):
		return fmt.Errorf("auth %q is none of %s", value, strings.Join(authMethods, ", "))
	case key == "managed-identity-id" && uuid.Validate(value) != nil:
		return fmt.Errorf("managed-identity-id %q is not a client ID, which is a GUID", value)
	}
	return nil
}
