// Package command holds what the commands of matoolkit share: the environment, options,
// arguments, completion, lists, audit trails and the session with the admin API.
package command

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
	"github.com/matoolkit/matoolkit/internal/cli/settings"
)

// Console is shared by all commands: the environment, the global options and the printer.
type Console struct {
	*render.Printer
	Env     Environment
	Options map[string]*string // of settings, by key
}

// Check checks the options that several commands have.
func (c *Console) Check(cmd *cobra.Command) error {
	if err := c.checkFormat(cmd); err != nil {
		return err
	}
	for key, value := range c.Options {
		if err := settings.Check(key, *value); err != nil {
			return exit.Usagef("--%s: %s", key, strings.TrimPrefix(err.Error(), key+" "))
		}
	}
	for _, option := range []string{"status", "topic"} {
		if err := checkChoice(cmd, option); err != nil {
			return err
		}
	}
	return nil
}

// checkChoice refuses a value of an option that the completion does not offer.
func checkChoice(cmd *cobra.Command, option string) error {
	flag := cmd.Flags().Lookup(option)
	complete, there := cmd.GetFlagCompletionFunc(option)
	if flag == nil || !there || !flag.Changed || flag.Value.String() == "" {
		return nil
	}
	all, _ := complete(cmd, nil, "")
	given := []string{flag.Value.String()}
	if several, ok := flag.Value.(pflag.SliceValue); ok {
		given = several.GetSlice()
	}
	for _, value := range given {
		if !slices.ContainsFunc(all, func(word string) bool { return strings.EqualFold(word, value) }) { // the API accepts some values in another case
			return exit.Usagef("--%s is %q; use %s", option, value, render.OneOf(all))
		}
	}
	return nil
}

// ReadFile reads a file named on the command line, or Stdin for "-".
func (c *Console) ReadFile(path string, limit int64) ([]byte, error) {
	r := c.Env.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, exit.Usage(err)
		}
		defer f.Close()
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		err = fmt.Errorf("%s: %w", render.FileName(path), err)
		if path != "-" { // a directory, which opens
			err = exit.Usage(err)
		}
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, &exit.Error{Status: exit.Refused, Text: fmt.Sprintf("%s is larger than %d bytes", render.FileName(path), limit)}
	}
	return data, nil
}
