package functionshost

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/loopback"
	"github.com/matoolkit/matoolkit/local/clock"
)

// process is one run of the handler's executable.
type process struct {
	pid     int
	url     string          // http://127.0.0.1:port
	client  *http.Client    // for invocations and probes
	proxy   *http.Transport // for proxied requests
	cmd     *exec.Cmd
	started time.Time
	lines   *lines
	calls   int           // that run; the supervisor's mu guards it
	done    chan struct{} // closed when it has exited
	exit    error         // why; read after done
}

// command says how the handler is started.
type command struct {
	path, dir string
	arguments []string
	settings  map[string]string
	appDir    string
	clock     *clock.Clock
	port      *heldPort
	timeout   time.Duration // until it must answer
	answer    time.Duration // how long a proxied request may go without an answer
}

// inherited are the variables of this process that the handler gets beside its
// settings. The rest stays out, so that what the person at this machine has set
// for other programs does not reach the handler.
var inherited = []string{"PATH", "HOME", "TMPDIR", "TEMP", "SystemRoot", "USERPROFILE", "GOMAXPROCS", "GOMEMLIMIT", "GODEBUG", "GOTRACEBACK", "GOCOVERDIR", "GORACE"}

// start runs the handler on a port, or on another one if that is not free, and returns when it
// answers GET / with any status.
func (c command) start(ctx context.Context, lines *lines, connections, port int) (*process, error) {
	port, err := c.port.hold(port)
	if err != nil {
		return nil, err
	}
	p := &process{
		started: time.Now(),
		url:     "http://127.0.0.1:" + strconv.Itoa(port),
		lines:   lines,
		done:    make(chan struct{}),
		client: &http.Client{
			Transport: &http.Transport{
				MaxIdleConnsPerHost: connections,
				DisableCompression:  true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		proxy: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true, ResponseHeaderTimeout: c.answer},
	}
	p.cmd = exec.Command(c.path, c.arguments...)
	p.cmd.Dir = c.dir
	p.cmd.Env = c.environment(port)
	p.cmd.Stdout = lines.stream(stdout)
	p.cmd.Stderr = lines.stream(stderr)
	p.cmd.WaitDelay = time.Second
	ownGroup(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the handler: %w", err)
	}
	go func() {
		p.exit = p.cmd.Wait()
		p.client.CloseIdleConnections()
		p.proxy.CloseIdleConnections()
		close(p.done)
	}()
	p.pid = p.cmd.Process.Pid
	if err := p.awaitReady(ctx, c.timeout); err != nil {
		p.kill()
		<-p.done
		return nil, err
	}
	return p, nil
}

func (c command) environment(port int) []string {
	var env []string
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range c.settings {
		env = append(env, name+"="+value)
	}
	if offset := c.clock.Offset(); offset > 0 {
		env = append(env, ClockSetting+"="+offset.String())
	}
	id := uuid.NewString()
	return append(env,
		"FUNCTIONS_CUSTOMHANDLER_PORT="+strconv.Itoa(port),
		"FUNCTIONS_CUSTOMHANDLER_WORKER_ID="+id,
		"FUNCTIONS_HTTPWORKER_PORT="+strconv.Itoa(port),
		"FUNCTIONS_HTTPWORKER_ID="+id,
		"FUNCTIONS_APP_ROOT_PATH="+c.appDir,
	)
}

// awaitReady asks every 25 ms until there is an answer.
func (p *process) awaitReady(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		if p.probe(ctx) {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("the handler ended before it answered: %s", p.reason())
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("the handler did not answer within initializationTimeout (%s)", timeout)
			}
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (p *process) probe(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/", nil)
	if err != nil {
		return false
	}
	response, err := p.client.Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil
}

// reason tells how an exited process ended, with its last words on stderr.
func (p *process) reason() string {
	reason := "exit status 0"
	if p.exit != nil {
		reason = p.exit.Error()
	}
	if last := p.lines.last(); len(last) > 0 {
		reason += ": " + strings.Join(last, "; ")
	}
	return reason
}

// status is the exit status of a process that has ended, -1 after a signal.
func (p *process) status() int {
	var exit *exec.ExitError
	switch {
	case p.exit == nil:
		return 0
	case errors.As(p.exit, &exit):
		return exit.ExitCode()
	}
	return -1
}

func (p *process) kill() { _ = p.cmd.Process.Kill() }

// port is that of a process; 0 where there is none.
func (p *process) port() int {
	if p == nil {
		return 0
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(p.url, "http://"), ":")
	n, _ := strconv.Atoi(port) // start wrote it
	return n
}

// heldPort reserves the port of the handler's process, also between two processes.
type heldPort struct{ port *loopback.Port }

// hold reserves a port, or another one if that is not free, in place of the one before.
func (h *heldPort) hold(number int) (int, error) {
	next, err := loopback.Reserve(number)
	if err != nil && number != 0 {
		next, err = loopback.Reserve(0)
	}
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	h.release()
	h.port = next
	return next.Number, nil
}

func (h *heldPort) release() {
	if h.port != nil {
		h.port.Close()
	}
	h.port = nil
}
