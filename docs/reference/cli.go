package reference

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// command is the reference of one command of the command line.
type command struct {
	Path, Short, Long, Usage, Example string
	Aliases                           []string
	Flags                             []option
}

type option struct{ Names, Default, Help string }

type commandsPage struct {
	Short, Long string
	Global      []option
	Commands    []command
}

func readCommands(root *cobra.Command) commandsPage {
	page := commandsPage{Short: root.Short, Long: markdown(root.Long), Global: options(root.PersistentFlags())}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, child := range c.Commands() {
			if child.Hidden || child.Deprecated != "" {
				continue
			}
			if !child.HasSubCommands() || child.Long != "" {
				page.Commands = append(page.Commands, command{
					Path: child.CommandPath(), Short: child.Short, Long: markdown(child.Long), Usage: child.UseLine(),
					Example: unindented(child.Example), Aliases: child.Aliases, Flags: options(child.LocalNonPersistentFlags()),
				})
			}
			walk(child)
		}
	}
	walk(root)
	return page
}

func options(flags *pflag.FlagSet) []option {
	var all []option
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			return
		}
		value, help := pflag.UnquoteUsage(f)
		o := option{Names: strings.TrimSpace("--" + f.Name + " " + value), Help: help, Default: f.DefValue}
		if f.Shorthand != "" {
			o.Names = "-" + f.Shorthand + ", " + o.Names
		}
		if slices.Contains([]string{"false", "0", "[]", "0s"}, o.Default) {
			o.Default = ""
		}
		all = append(all, o)
	})
	return all
}

// markdown converts the long text of a command: indented lines become a block, and the lines of a
// paragraph one line.
func markdown(text string) string {
	var out []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		var prose, block []string
		end := func() {
			if prose != nil {
				out = append(out, strings.ReplaceAll(strings.Join(prose, " "), "<", "&lt;"))
			}
			if block != nil {
				out = append(out, "```text\n"+unindented(strings.Join(block, "\n"))+"\n```")
			}
			prose, block = nil, nil
		}
		for line := range strings.SplitSeq(strings.Trim(paragraph, "\n"), "\n") {
			inBlock := strings.HasPrefix(line, " ") || block != nil && strings.Contains(line, "  ")
			if inBlock == (block == nil) && (prose != nil || block != nil) {
				end()
			}
			if inBlock {
				block = append(block, line)
			} else {
				prose = append(prose, line)
			}
		}
		end()
	}
	return strings.Join(out, "\n\n")
}

// unindented removes the indentation that all lines share.
func unindented(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	shared := -1
	for _, line := range lines {
		if indent := len(line) - len(strings.TrimLeft(line, " ")); strings.TrimSpace(line) != "" && (shared < 0 || indent < shared) {
			shared = indent
		}
	}
	for i, line := range lines {
		lines[i] = line[min(max(shared, 0), len(line)):]
	}
	return strings.Join(lines, "\n")
}
