//go:build rabbitmq

// Package rabbitmqtest starts a node of RabbitMQ for tests with the build tag rabbitmq.
package rabbitmqtest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus/rabbitmq"
)

// Node is a node of RabbitMQ with its own port mapper, on free ports of this machine, whose files
// are in one folder.
type Node struct {
	URL   string         // of a user with all rights
	TLS   string         // likewise, with TLS
	Roots *x509.CertPool // of the certificate of TLS

	dir       string
	processes []*exec.Cmd
}

// Main is a TestMain whose tests use one node.
func Main(m *testing.M, use func(*Node)) {
	n, err := Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	use(n)
	code := m.Run()
	n.Stop()
	os.Exit(code)
}

// startTime bounds the start of a node on a busy machine.
const startTime = 3 * time.Minute

// Start starts a node. It needs the package rabbitmq-server of Debian or Ubuntu.
func Start() (n *Node, err error) {
	server, err := serverScript()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "matoolkit-rabbitmq-")
	if err != nil {
		return nil, err
	}
	n = &Node{dir: dir}
	defer func() {
		if err != nil {
			n.Stop()
		}
	}()
	ports, err := freePorts(4)
	if err != nil {
		return nil, err
	}
	amqp, amqps, dist, epmd := ports[0], ports[1], ports[2], ports[3]
	config := filepath.Join(dir, "rabbitmq.conf")
	certificate, key := filepath.Join(dir, "certificate.pem"), filepath.Join(dir, "key.pem")
	roots, err := writeCertificate(certificate, key)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf(`listeners.tcp.1 = 127.0.0.1:%d
listeners.ssl.1 = 127.0.0.1:%d
ssl_options.cacertfile = %s
ssl_options.certfile = %[3]s
ssl_options.keyfile = %s
disk_free_limit.absolute = 50MB
`, amqp, amqps, certificate, key)
	plugins := filepath.Join(dir, "enabled_plugins")
	if err := errors.Join(os.WriteFile(config, []byte(text), 0o600), os.WriteFile(plugins, []byte("[].\n"), 0o600)); err != nil {
		return nil, err
	}
	n.URL, n.TLS, n.Roots = fmt.Sprintf("amqp://guest:guest@127.0.0.1:%d/", amqp), fmt.Sprintf("amqps://guest:guest@127.0.0.1:%d/", amqps), roots
	if err := n.start(nil, "epmd", "-port", strconv.Itoa(epmd), "-address", "127.0.0.1"); err != nil {
		return nil, err
	}
	if err := n.start([]string{
		"HOME=" + dir, // of the Erlang cookie
		"ERL_EPMD_PORT=" + strconv.Itoa(epmd), "ERL_EPMD_ADDRESS=127.0.0.1",
		fmt.Sprintf("RABBITMQ_NODENAME=matoolkit-%d@localhost", os.Getpid()),
		"RABBITMQ_DIST_PORT=" + strconv.Itoa(dist), "RABBITMQ_NODE_IP_ADDRESS=127.0.0.1", "RABBITMQ_NODE_PORT=" + strconv.Itoa(amqp),
		"RABBITMQ_MNESIA_BASE=" + filepath.Join(dir, "mnesia"), "RABBITMQ_LOG_BASE=" + filepath.Join(dir, "log"),
		"RABBITMQ_CONFIG_FILE=" + config, "RABBITMQ_CONF_ENV_FILE=/dev/null", "RABBITMQ_ENABLED_PLUGINS_FILE=" + plugins,
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-kernel inet_dist_use_interface {127,0,0,1}",
	}, server); err != nil {
		return nil, err
	}
	return n, n.wait()
}

// serverScript is the server without the wrapper that changes the user.
func serverScript() (string, error) {
	found, err := filepath.Glob("/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server")
	if err != nil || len(found) == 0 {
		return "", errors.New("the tests need RabbitMQ: apt-get install --no-install-recommends rabbitmq-server")
	}
	return found[len(found)-1], nil
}

// writeCertificate writes a certificate of 127.0.0.1, which is its own authority.
func writeCertificate(certificate, key string) (*x509.CertPool, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	made, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	return roots, errors.Join(os.WriteFile(certificate, text, 0o600), os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), 0o600))
}

func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// start starts a program in a process group of its own, which stop ends.
func (n *Node) start(env []string, name string, args ...string) error {
	log, err := os.OpenFile(filepath.Join(n.dir, "output"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	c := exec.Command(name, args...)
	c.Env, c.Dir, c.Stdout, c.Stderr = append(os.Environ(), env...), n.dir, log, log
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		return err
	}
	n.processes = append(n.processes, c)
	return nil
}

// wait waits until the node answers.
func (n *Node) wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	client, err := rabbitmq.Dial(rabbitmq.Config{URL: n.URL})
	if err != nil {
		return err
	}
	defer client.Close(ctx)
	for {
		if err = client.Ping(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			output, _ := os.ReadFile(filepath.Join(n.dir, "output"))
			return fmt.Errorf("RabbitMQ did not start within %s: %w\n%s", startTime, err, output)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Stop ends the node and deletes its files.
func (n *Node) Stop() {
	for i := len(n.processes) - 1; i >= 0; i-- {
		c := n.processes[i]
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // its files are deleted, too
		_ = c.Wait()
	}
	_ = os.RemoveAll(n.dir) // a temporary folder
}
