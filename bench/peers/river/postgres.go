//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// durable are the settings that give a commit the guarantee of the local store and broker: it is
// answered when the disk has it, and commits that come together share one flush. Those are
// PostgreSQL's defaults, written out.
var durable = []string{"fsync=on", "synchronous_commit=on", "full_page_writes=on"}

// tuned are the settings that a server of its own gets: memory, and checkpoints that are far apart.
var tuned = []string{
	"shared_buffers=512MB", "max_wal_size=4GB", "min_wal_size=1GB", "checkpoint_timeout=30min", "max_connections=200", "jit=off",
}

// postgres is a private server, which only a socket in its folder reaches.
type postgres struct {
	dir     string
	process *exec.Cmd
	version string
}

// startPostgres creates a server in a temporary folder. As root it runs as another user, because
// PostgreSQL refuses to run as root.
func startPostgres(ctx context.Context) (pg *postgres, err error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	as, err := unprivileged()
	if err != nil {
		return nil, err
	}
	pg = &postgres{}
	if pg.dir, err = os.MkdirTemp("", "river-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, pg.stop())
		}
	}()
	if as != nil {
		if err := os.Chown(pg.dir, int(as.Uid), int(as.Gid)); err != nil {
			return nil, err
		}
	}
	data := filepath.Join(pg.dir, "data")
	command := func(name string, args ...string) *exec.Cmd {
		c := exec.Command(filepath.Join(bin, name), args...)
		c.Dir, c.SysProcAttr = pg.dir, &syscall.SysProcAttr{Credential: as}
		return c
	}
	version, err := command("postgres", "--version").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("postgres --version: %w: %s", err, bytes.TrimSpace(version))
	}
	pg.version = strings.Fields(string(version))[2]
	if out, err := command("initdb", "--username", "river", "--auth", "trust", "--encoding", "UTF8", "--locale", "C", data).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, bytes.TrimSpace(out))
	}
	args := []string{"-D", data, "-k", pg.dir, "-c", "listen_addresses="}
	for _, setting := range append(durable, tuned...) {
		args = append(args, "-c", setting)
	}
	server := command("postgres", args...)
	server.SysProcAttr.Pdeathsig = syscall.SIGINT
	log, err := os.Create(filepath.Join(pg.dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() // the server has its own
	server.Stdout, server.Stderr = log, log
	if err := server.Start(); err != nil {
		return nil, err
	}
	pg.process = server
	return pg, pg.ready(ctx)
}

// programs finds the folder of PostgreSQL's programs: in PATH, else where Debian keeps them.
func programs() (string, error) {
	places, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err != nil { // postgres finds its files from its own place
			return "", err
		}
		places = append(places, filepath.Dir(path))
	}
	for i := len(places) - 1; i >= 0; i-- {
		if _, err := os.Stat(filepath.Join(places[i], "initdb")); err == nil {
			return places[i], nil
		}
	}
	return "", errors.New("PostgreSQL is not installed: there is no postgres with initdb in PATH or /usr/lib/postgresql")
}

// unprivileged returns the user to run as; nil for the user that runs this program.
func unprivileged() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil //nolint:nilnil // the program's own user
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
	}
	return nil, errors.New("PostgreSQL refuses to run as root, and there is no user postgres or nobody")
}

// ready waits until the server accepts connections.
func (pg *postgres) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		pool, err := connect(ctx, pg.dir, 1)
		if err != nil {
			return err
		}
		err = pool.Ping(ctx)
		pool.Close()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(pg.dir, "log")) // it may say why
			return fmt.Errorf("PostgreSQL does not answer: %w: %s", err, log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the server and deletes its folder.
func (pg *postgres) stop() error {
	var errs []error
	if pg.process != nil {
		errs = append(errs, pg.process.Process.Signal(syscall.SIGINT)) // the fast shutdown
		if err := pg.process.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("postgres: %w", err))
		}
	}
	return errors.Join(append(errs, os.RemoveAll(pg.dir))...)
}

// usage is the consumption of all processes of the server, with those that have ended.
type usage struct {
	cpu     time.Duration
	written int64 // bytes to files
}

func (pg *postgres) usage() (u usage, err error) {
	parent := pg.process.Process.Pid
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
	if err != nil {
		return u, err
	}
	// The server collects its ended children: its own numbers contain theirs.
	if err := u.add(parent, 11, 12, 13, 14); err != nil {
		return u, err
	}
	for _, field := range strings.Fields(string(children)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return u, err
		}
		if err := u.add(pid, 11, 12); err != nil && !errors.Is(err, os.ErrNotExist) {
			return u, err
		}
	}
	return u, nil
}

// add adds fields of /proc/PID/stat, which count hundredths of a second, and the bytes that the
// process wrote. Fields count from the one after the program's name in parentheses. The bytes are
// wchar, which leaves out sockets, to which PostgreSQL sends: write_bytes counts the whole page cache
// folio of each change, up to 30 times as much in the preallocated files of the write-ahead log.
func (u *usage) add(pid int, times ...int) error {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, at := range times {
		ticks, err := strconv.ParseInt(fields[at], 10, 64)
		if err != nil {
			return err
		}
		u.cpu += time.Duration(ticks) * 10 * time.Millisecond
	}
	io, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(bytes.NewReader(io)); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "wchar: "); ok {
			n, err := strconv.ParseInt(rest, 10, 64)
			if err != nil {
				return err
			}
			u.written += n
		}
	}
	return nil
}

// ownCPU is the CPU time of this process.
func ownCPU() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // the arguments are valid
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
