package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Process is a program of the product that runs beside this one, for the demo and
// for tests that kill things.
type Process struct {
	Name  string
	cmd   *exec.Cmd
	group bool // it leads a process group of its own
	done  chan struct{}
	err   error
}

// Spawn starts a program with an environment of its own added to this one's. Its
// output goes to out.
func Spawn(name string, out io.Writer, env map[string]string, path string, args ...string) (*Process, error) {
	p := &Process{Name: name, cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.Env = os.Environ()
	for k, v := range env {
		p.cmd.Env = append(p.cmd.Env, k+"="+v)
	}
	return p.start(out)
}

// SpawnShell starts a shell command. Stop interrupts it and all processes that it has started, as
// Ctrl-C in a terminal does.
func SpawnShell(name string, out io.Writer, command string) (*Process, error) {
	p := &Process{Name: name, cmd: exec.Command("sh", "-c", command), group: true, done: make(chan struct{})}
	return p.start(out)
}

func (p *Process) start(out io.Writer) (*Process, error) {
	p.cmd.Stdout, p.cmd.Stderr = out, out
	tieToParent(p.cmd)
	if p.group {
		ownGroup(p.cmd)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Kill ends the process at once, as a crash does, and waits until it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

// Wait waits until the process has ended and returns its error.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stop sends SIGTERM, waits, and kills the process after the grace period.
func (p *Process) Stop(grace time.Duration) error {
	select {
	case <-p.done:
		return p.err
	default:
	}
	if p.group {
		interruptGroup(p.cmd)
	} else {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	}
	select {
	case <-p.done:
		return p.err
	case <-time.After(grace):
		p.Kill()
		return fmt.Errorf("%s did not stop within %s", p.Name, grace)
	}
}

// WaitEndpoints reads the file that "matoolkit local up --endpoints" writes when
// its parts are ready.
func WaitEndpoints(ctx context.Context, file string, p *Process) (Endpoints, error) {
	for {
		e, err := ReadEndpoints(file)
		if err == nil {
			return e, nil
		}
		select {
		case <-p.Done():
			return e, fmt.Errorf("%s ended before it was ready: %w", p.Name, errors.Join(p.err, errors.New("see its log")))
		case <-ctx.Done():
			return e, fmt.Errorf("%s is not ready: %w", p.Name, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// ReadEndpoints reads the file, if it is there.
func ReadEndpoints(file string) (Endpoints, error) {
	var e Endpoints
	body, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(body, &e)
	}
	return e, err
}

// WriteEndpoints writes the file, whole or not at all.
func WriteEndpoints(file string, e Endpoints) error {
	body, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(file, body)
}

// writeWhole writes a file that only its owner reads, whole or not at all.
func writeWhole(file string, body []byte) error {
	if err := os.WriteFile(file+".new", body, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
