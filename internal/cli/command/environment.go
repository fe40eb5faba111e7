package command

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// Environment is the environment of a command. The zero value of a field other than the
// streams stands for none, or for that of the system.
type Environment struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Now            func() time.Time
	// Terminal reports whether Stdout is a terminal. Width is its number of columns.
	Terminal bool
	Width    int
	// Token replaces the sign-in, for a program that runs commands in its own process.
	Token func(context.Context) (string, error)
	// Wait waits between two reads of a batch and between attempts; nil uses the clock.
	Wait func(context.Context, time.Duration) error
}

// OSEnvironment returns the environment of the process.
func OSEnvironment() Environment {
	e := Environment{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Now: time.Now}
	// A terminal without a known width gets plain lines.
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && width > 0 {
		e.Terminal, e.Width = true, width
	}
	return e
}

// Complete sets the defaults of empty fields.
func (e Environment) Complete() Environment {
	if e.Getenv == nil {
		e.Getenv = func(string) string { return "" }
	}
	if e.Now == nil {
		e.Now = time.Now
	}
	if e.Stdin == nil {
		e.Stdin = eof{}
	}
	if e.Wait == nil {
		e.Wait = Sleep
	}
	return e
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// Sleep waits until d has passed or ctx has ended.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// WithExample sets the example of a group and returns it.
func WithExample(group *cobra.Command, example string) *cobra.Command {
	group.Example = example
	return group
}

// Group returns a command that only has subcommands.
func Group(use, short string, children ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short, Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return exit.Usagef("%s needs a command; see %s --help", cmd.CommandPath(), cmd.CommandPath())
	}}
	g.AddCommand(children...)
	return g
}
