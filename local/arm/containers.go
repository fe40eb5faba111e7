package arm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Container is the container of a group, as a Runner gets it.
type Container struct {
	Group, Image  string
	CPU, MemoryGB float64
	Env           map[string]string // with secure values
}

// Runner runs a container to its end and returns its exit code. It ends when ctx does. An error means that
// the container could not be started, such as for an image that cannot be pulled.
type Runner func(ctx context.Context, c Container) (exitCode int, err error)

// Programs returns a runner that starts a local program for each image. Their environment is that of the
// container, with the variables of this process that a program needs to run, and extra ones, such as the
// address of a local service. Their output goes to out.
func Programs(programs map[string]string, extra map[string]string, out io.Writer) Runner {
	return func(ctx context.Context, c Container) (int, error) {
		program, ok := programs[c.Image]
		if !ok {
			return 0, fmt.Errorf("Failed to pull image \"%s\": not found", c.Image) // as the service says it
		}
		cmd := exec.CommandContext(ctx, program)
		cmd.WaitDelay = 5 * time.Second
		cmd.Stdout, cmd.Stderr = out, out
		for _, name := range []string{"PATH", "HOME", "TMPDIR", "SYSTEMROOT"} {
			if v, ok := os.LookupEnv(name); ok {
				cmd.Env = append(cmd.Env, name+"="+v)
			}
		}
		for _, all := range []map[string]string{extra, c.Env} {
			for name, v := range all {
				cmd.Env = append(cmd.Env, name+"="+v)
			}
		}
		err := cmd.Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return max(exit.ExitCode(), 1), nil
		}
		return 0, err
	}
}

// group is a container group that exists. The lock of the server guards it.
type group struct {
	body         *groupBody
	raw          []byte
	provisioning string
	instance     string // state of the group; empty before it has containers
	current      stateBody
	events       []eventBody
	deleting     bool

	cancel context.CancelFunc
	exit   chan int      // of a container without a runner
	over   chan struct{} // closed when the container has ended
}

// ended reports whether the container has ended, or never will run.
func (g *group) ended() bool {
	return g.provisioning == "Failed" || g.current.State == "Terminated"
}

// stop ends the container, and returns a channel that is closed at its end.
func (g *group) stop() <-chan struct{} {
	g.cancel()
	return g.over
}

// needsDeletion reports whether a change is one that the service refuses for a group that runs.
func (g *group) needsDeletion(changed *groupBody) bool {
	was, is := g.body.Properties, changed.Properties
	before, after := was.Containers[0].Properties.Resources.Requests, is.Containers[0].Properties.Resources.Requests
	return was.OSType != is.OSType || was.RestartPolicy != is.RestartPolicy || *before.CPU != *after.CPU || *before.Memory != *after.Memory
}

// run creates the containers of a group and runs them. The caller holds the lock.
func (s *Server) run(key string, g *group, op *operation) {
	ctx, cancel := context.WithCancel(s.life)
	g.cancel, g.exit, g.over = cancel, make(chan int, 1), make(chan struct{})
	s.running.Go(func() {
		defer close(g.over)
		defer cancel()
		s.mu.Lock()
		g.provisioning, g.instance = "Succeeded", "Running"
		g.current = stateBody{State: "Running", StartTime: s.stamp()}
		op.status = "Succeeded"
		s.starts[key]++
		s.peak = max(s.peak, s.runningNow())
		s.mu.Unlock()
		code, err := s.execute(ctx, g)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err != nil {
			now := *s.stamp()
			g.provisioning, g.instance = "Failed", "Pending"
			g.current = stateBody{State: "Waiting", DetailStatus: "Failed"}
			g.events = append(g.events, eventBody{Count: 1, First: now, Last: now, Name: "Failed", Message: err.Error(), Type: "Warning"})
			return
		}
		g.instance, g.current.State, g.current.DetailStatus = "Succeeded", "Terminated", "Completed"
		if g.current.FinishTime, g.current.ExitCode = s.stamp(), &code; code != 0 {
			g.instance, g.current.DetailStatus = "Failed", "Error"
		}
	})
}

func (s *Server) execute(ctx context.Context, g *group) (int, error) {
	if s.config.Run != nil {
		return s.config.Run(ctx, g.container())
	}
	select {
	case code := <-g.exit:
		return code, nil
	case <-ctx.Done():
		return 137, nil
	}
}

func (g *group) container() Container {
	p := g.body.Properties.Containers[0].Properties
	c := Container{Group: g.body.Name, Image: p.Image, CPU: *p.Resources.Requests.CPU, MemoryGB: *p.Resources.Requests.Memory, Env: map[string]string{}}
	for _, v := range p.Env {
		if c.Env[v.Name] = ""; v.Value != nil {
			c.Env[v.Name] = *v.Value
		} else {
			c.Env[v.Name] = *v.Secure
		}
	}
	return c
}

// stamp is the time of a state.
func (s *Server) stamp() *time.Time {
	now := s.config.Now().UTC()
	return &now
}

// runningNow counts the containers that run. The caller holds the lock.
func (s *Server) runningNow() (n int) {
	for _, g := range s.groups {
		if g.current.State == "Running" {
			n++
		}
	}
	return n
}

// State is the state of a group for a test, or for a demonstration.
type State struct {
	Name, Provisioning, Instance string
	Tags                         map[string]string
	Container                    Container
	Deleting                     bool
}

// Groups returns all groups, by path.
func (s *Server) Groups() (all []State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.groups {
		all = append(all, State{Name: g.body.Name, Provisioning: g.provisioning, Instance: g.instance, Tags: g.body.Tags, Container: g.container(), Deleting: g.deleting})
	}
	return all
}

// Counters count since the start.
type Counters struct {
	Groups  int            `json:"groups"`  // that exist
	Running int            `json:"running"` // containers
	Peak    int            `json:"peak"`    // the most containers that ran at once
	Starts  map[string]int `json:"starts"`  // containers started, by the name of their group
}

// Counters returns the counters.
func (s *Server) Counters() Counters {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := Counters{Groups: len(s.groups), Running: s.runningNow(), Peak: s.peak, Starts: map[string]int{}}
	for key, n := range s.starts {
		c.Starts[nameOf(key)] += n
	}
	return c
}

// Exit ends the container of a group that has no runner, with an exit code. It returns when the group has
// the state of one that has ended.
func (s *Server) Exit(name string, code int) error {
	s.mu.Lock()
	for key, g := range s.groups {
		if strings.EqualFold(nameOf(key), name) {
			s.mu.Unlock()
			g.exit <- code
			<-g.over
			return nil
		}
	}
	s.mu.Unlock()
	return fmt.Errorf("there is no group %s", name)
}
