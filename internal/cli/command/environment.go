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

// Environment is what a command has around it. The zero value of a field other than
// the streams means none, or what the system has.
type Environment struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Now            func() time.Time
	// Terminal tells that Stdout is a terminal, Width how many columns it has.
	Terminal bool
	Width    int
	// Token replaces the sign-in, for a program that runs commands in process.
	Token func(context.Context) (string, error)
	// Wait waits between two looks at a batch and between attempts; nil waits on
	// the clock.
	Wait func(context.Context, time.Duration) error
}

// OSEnvironment is that of the process.
func OSEnvironment() Environment {
	e := Environment{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Now: time.Now}
	// A terminal that does not say how wide it is gets plain lines: nothing can be
	// drawn on it.
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && width > 0 {
		e.Terminal, e.Width = true, width
	}
	return e
}

// Complete fills in what is not set.
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

// Group is a command that only holds others.
func Group(use, short string, children ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short, Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return exit.Usagef("%s needs a command; see %s --help", cmd.CommandPath(), cmd.CommandPath())
	}}
	g.AddCommand(children...)
	return g
}
