package command

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
)

// The widths of help, in columns: of a terminal at most, at least, and where there is none.
const (
	widestHelp    = 100
	narrowestHelp = 40
	plainHelp     = 80
)

// helpWidth returns the width of help.
func (e Environment) helpWidth() int {
	if !e.Terminal {
		return plainHelp
	}
	return min(max(e.Width, narrowestHelp), widestHelp)
}

// UseHelp makes a root command and its subcommands print Help.
func UseHelp(root *cobra.Command, env Environment) {
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { fmt.Fprint(cmd.OutOrStdout(), Help(cmd, env.helpWidth())) })
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		_, err := fmt.Fprint(cmd.OutOrStderr(), Help(cmd, env.helpWidth()))
		return err
	})
}

// UsageLine returns the usage line of a command without cobra's "[flags]".
func UsageLine(cmd *cobra.Command) string { return strings.TrimSuffix(cmd.UseLine(), " [flags]") }

// Help returns the help of a command: examples first, then the usage, the description and
// the options. Only the root lists the global options.
func Help(cmd *cobra.Command, width int) string {
	var b strings.Builder
	section := func(title, body string) {
		if body != "" {
			fmt.Fprintf(&b, "\n%s:\n%s\n", title, strings.TrimRight(body, "\n"))
		}
	}
	b.WriteString(Wrap(cmd.Short+".", width) + "\n")
	section("Examples", cmd.Example)
	usage := "  " + UsageLine(cmd) + " [options]"
	if cmd.HasAvailableSubCommands() {
		usage = "  " + cmd.CommandPath() + " <command> [options]"
	}
	section("Usage", usage)
	section("Aliases", aliases(cmd))
	if cmd.Long != "" {
		b.WriteString("\n" + Wrap(cmd.Long, width) + "\n")
	}
	section("Commands", subcommands(cmd, width))
	section("Options", cmd.LocalFlags().FlagUsagesWrapped(width))
	switch root := cmd.Root(); {
	case cmd.HasAvailableSubCommands():
		b.WriteString("\n" + Wrap(fmt.Sprintf("Help for a command: %s <command> --help", cmd.CommandPath()), width) + "\n")
	case cmd != root:
		b.WriteString("\n" + Wrap(fmt.Sprintf("Global options, such as --output: %s --help", root.Name()), width) + "\n")
	}
	return b.String()
}

// aliases returns the other names of a command.
func aliases(cmd *cobra.Command) string {
	if len(cmd.Aliases) == 0 {
		return ""
	}
	return "  " + strings.Join(cmd.Aliases, ", ")
}

// subcommands lists the commands of a group.
func subcommands(cmd *cobra.Command, width int) string {
	var lines []string
	longest := 0
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			longest = max(longest, len(c.Name()))
		}
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			lines = append(lines, Wrap(fmt.Sprintf("  %-*s  %s", longest, c.Name(), c.Short), width))
		}
	}
	return strings.Join(lines, "\n")
}

// column matches the first column of a line of a list: an indented term, then two spaces or
// more.
var column = regexp.MustCompile(`^ +\S+(?: \S+)*?  +`)

// Wrap wraps a text at a width. Lines of a paragraph are joined. An indented line begins an
// item of its own; it continues on lines with a larger indent, as in a list with two columns.
func Wrap(s string, width int) string {
	var out []string
	var item string // the item under way, its indent and that of its continuation
	var hang int
	flush := func() {
		if item != "" {
			out = append(out, fill(item, hang, width))
			item = ""
		}
	}
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\n")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case strings.TrimSpace(line) == "":
			flush()
			out = append(out, "")
		case item != "" && indent == hang:
			item += " " + line[indent:]
		default:
			flush()
			item, hang = line, indent
			if found := column.FindString(line); found != "" {
				hang = len(found)
			} else if indent > 0 {
				hang = indent + 2
			}
		}
	}
	flush()
	return strings.Join(out, "\n")
}

// fill breaks an item into lines; all but the first are indented by hang.
func fill(item string, hang, width int) string {
	if text.StringWidth(item) <= width {
		return item
	}
	if hang > width/2 {
		hang = 4
	}
	start := len(item) - len(strings.TrimLeft(item, " "))
	if found := column.FindString(item); found != "" {
		start = len(found)
	}
	var lines []string
	line, used := item[:start], false
	for _, word := range strings.Fields(item[start:]) {
		switch {
		case !used:
			line += word
		case text.StringWidth(line)+1+text.StringWidth(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = strings.Repeat(" ", hang) + word
		}
		used = true
	}
	return strings.Join(append(lines, line), "\n")
}
