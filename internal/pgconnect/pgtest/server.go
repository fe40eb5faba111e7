//go:build postgres

package pgtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/matoolkit/matoolkit/internal/testenv"
)

// Server is a running server with its data in a folder of its own.
type Server struct {
	CA, Address string // of the file of its certificate, and host:port

	dir        string
	process    *exec.Cmd
	ended      chan struct{}
	credential *syscall.Credential // the server refuses to run as root
}

// Start starts a server that ends with the test. The role admin, of a superuser, signs in without a
// password; access has the lines of pg_hba.conf for other roles. It needs the package postgresql of Debian or Ubuntu.
func Start(t testing.TB, access string) *Server {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		t.Fatal("PostgreSQL is not installed: apt-get install postgresql")
	}
	bin := filepath.Dir(found[len(found)-1])
	c := &Server{dir: testenv.Must(os.MkdirTemp("", "postgres"))(t)}
	t.Cleanup(func() { _ = os.RemoveAll(c.dir) })
	c.CA, _ = WriteCertificate(t, c.dir)
	if os.Geteuid() == 0 {
		account, err := user.Lookup("postgres")
		if err != nil {
			account = testenv.Must(user.Lookup("nobody"))(t)
		}
		uid, gid := testenv.Must(strconv.Atoi(account.Uid))(t), testenv.Must(strconv.Atoi(account.Gid))(t)
		c.credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		for _, name := range []string{c.dir, c.CA, filepath.Join(c.dir, "server.key")} {
			if err := os.Chown(name, uid, gid); err != nil {
				t.Fatal(err)
			}
		}
	}
	data := filepath.Join(c.dir, "data")
	initdb := c.command(bin, "initdb", "-D", data, "-U", "admin", "--no-sync", "--encoding", "UTF8", "--locale", "C.UTF-8", "--auth", "trust")
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(data, "pg_hba.conf"), []byte("host all admin 127.0.0.1/32 trust\n"+access), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	for range 5 { // another program may take the port
		if c.run(t, bin, data) {
			return c
		}
	}
	t.Fatal("the server does not start: " + string(testenv.Must(os.ReadFile(filepath.Join(c.dir, "log")))(t)))
	return nil
}

func (c *Server) command(bin, name string, args ...string) *exec.Cmd {
	command := exec.Command(filepath.Join(bin, name), args...)
	command.Dir, command.SysProcAttr = c.dir, &syscall.SysProcAttr{Credential: c.credential}
	return command
}

// run starts the server on a free port and waits until it answers. It reports false if the
// server ended instead.
func (c *Server) run(t testing.TB, bin, data string) bool {
	t.Helper()
	free := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	c.Address = free.Addr().String()
	_ = free.Close()
	_, port, _ := net.SplitHostPort(c.Address)
	args := []string{"-D", data}
	for _, setting := range []string{
		"listen_addresses=127.0.0.1", "port=" + port, "unix_socket_directories=", "fsync=off", "max_connections=60",
		"ssl=on", "ssl_cert_file=" + c.CA, "ssl_key_file=" + filepath.Join(c.dir, "server.key"),
	} {
		args = append(args, "-c", setting)
	}
	c.process, c.ended = c.command(bin, "postgres", args...), make(chan struct{})
	log := testenv.Must(os.Create(filepath.Join(c.dir, "log")))(t)
	defer log.Close()
	c.process.Stdout, c.process.Stderr = log, log
	if err := c.process.Start(); err != nil {
		t.Fatal(err)
	}
	go func(process *exec.Cmd, ended chan struct{}) {
		_ = process.Wait()
		close(ended)
	}(c.process, c.ended)
	running := false
	testenv.Eventually(t, "the server starts or ends", func() bool {
		select {
		case <-c.ended:
			return true
		default:
		}
		conn, err := pgconn.Connect(t.Context(), c.Admin("postgres"))
		if err == nil {
			running = true
			_ = conn.Close(t.Context())
		}
		return running
	})
	return running
}

// Stop ends the server at once, as a crash would.
func (c *Server) Stop() {
	if c.process != nil && c.process.Process != nil {
		_ = c.process.Process.Signal(syscall.SIGQUIT)
		<-c.ended
	}
}

// Admin is the connection of the administrator.
func (c *Server) Admin(database string) string {
	host, port, _ := net.SplitHostPort(c.Address)
	return fmt.Sprintf("host=%s port=%s dbname=%s user=admin sslmode=disable", host, port, database)
}

// Exec runs statements as the administrator and gives the rows of the last.
func (c *Server) Exec(t testing.TB, database, statements string) [][]string {
	t.Helper()
	conn := testenv.Connected(pgconn.Connect(t.Context(), c.Admin(database)))(t)
	results := testenv.Must(conn.Exec(t.Context(), statements).ReadAll())(t)
	_ = conn.Close(t.Context())
	var out [][]string
	for _, row := range results[len(results)-1].Rows {
		var texts []string
		for _, v := range row {
			texts = append(texts, string(v))
		}
		out = append(out, texts)
	}
	return out
}
