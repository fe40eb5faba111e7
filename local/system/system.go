// Package system starts the parts of local/ together: Azure and a Microsoft 365
// tenant on one machine, wired to each other as the real ones are.
//
// It knows how the parts find each other and what the product's programs must be
// told to find them. It knows nothing of migrations.
package system

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	bus "github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/env"
	"github.com/matoolkit/matoolkit/internal/snapshot"
	cosmosstore "github.com/matoolkit/matoolkit/internal/store/cosmos"
	"github.com/matoolkit/matoolkit/local/arm"
	"github.com/matoolkit/matoolkit/local/blob"
	"github.com/matoolkit/matoolkit/local/clock"
	"github.com/matoolkit/matoolkit/local/cosmos"
	"github.com/matoolkit/matoolkit/local/entra"
	"github.com/matoolkit/matoolkit/local/functionshost"
	"github.com/matoolkit/matoolkit/local/github"
	"github.com/matoolkit/matoolkit/local/keyvault"
	"github.com/matoolkit/matoolkit/local/servicebus"
	"github.com/matoolkit/matoolkit/local/tenant"
)

// Part is one of the servers.
type Part string

// The parts. Identity is Entra ID with the tenant, the key vault and Blob Storage, which verify its tokens,
// and GitHub.
const (
	ServiceBus Part = "servicebus"
	Cosmos     Part = "cosmos"
	Identity   Part = "identity"
	Host       Part = "host"
)

// AllParts are the parts in the order they start in: Identity first, whose tokens and
// certificates the others accept and use.
func AllParts() []Part { return []Part{Identity, ServiceBus, Cosmos, Host} }

// Addresses are where the parts listen, host:port on loopback. Port 0 takes a
// free one.
type Addresses struct {
	ServiceBus string `json:",omitempty"`
	Cosmos     string `json:",omitempty"`
	Entra      string `json:",omitempty"`
	Tenant     string `json:",omitempty"`
	KeyVault   string `json:",omitempty"`
	Host       string `json:",omitempty"`
	ARM        string `json:",omitempty"`
	Blob       string `json:",omitempty"`
	GitHub     string `json:",omitempty"`
}

// Or fills in the addresses that a lacks with those of b.
func (a Addresses) Or(b Addresses) Addresses {
	return Addresses{
		ServiceBus: cmp.Or(a.ServiceBus, b.ServiceBus), Cosmos: cmp.Or(a.Cosmos, b.Cosmos), Entra: cmp.Or(a.Entra, b.Entra),
		Tenant: cmp.Or(a.Tenant, b.Tenant), KeyVault: cmp.Or(a.KeyVault, b.KeyVault), Host: cmp.Or(a.Host, b.Host),
		ARM: cmp.Or(a.ARM, b.ARM), Blob: cmp.Or(a.Blob, b.Blob), GitHub: cmp.Or(a.GitHub, b.GitHub),
	}
}

// DefaultAddresses are the documented ports.
func DefaultAddresses() Addresses {
	return Addresses{
		ServiceBus: "127.0.0.1:5672", Cosmos: "127.0.0.1:8081",
		Host: "127.0.0.1:7071", Entra: "127.0.0.1:7072", Tenant: "127.0.0.1:7073",
		KeyVault: "127.0.0.1:7074", ARM: "127.0.0.1:7075", Blob: "127.0.0.1:7076", GitHub: "127.0.0.1:7077",
	}
}

// FreeAddresses let every part take a free port.
func FreeAddresses() Addresses {
	const free = "127.0.0.1:0"
	return Addresses{ServiceBus: free, Cosmos: free, Host: free, Entra: free, Tenant: free, KeyVault: free, ARM: free, Blob: free, GitHub: free}
}

// Config of a System.
type Config struct {
	Parts       []Part        // empty: all; parts that run elsewhere are found at their address
	Elsewhere   []Part        // parts that run elsewhere and that Endpoints lists nevertheless
	Addresses   Addresses     // a zero value: DefaultAddresses
	DataDir     string        // keeps all state; empty keeps none
	AppDir      string        // the staged Functions app
	AutoApprove bool          // sign-ins need no browser: each is the administrator's
	Workers     []string      // have a subscription each, the first is whom WorkerEnv is for; empty: worker-01, or none with Tenants
	Tenants     []entra.Named // Microsoft 365 tenants with a worker each; empty: one, which is that of the admin API
	// Snapshots have the objects of tenants, by their names in Tenants, which has their tenant ids.
	Snapshots map[string]*snapshot.Reader
	Topology  []byte            // of Service Bus, in the emulator's Config.json form; empty: what the product needs
	Settings  map[string]string // app settings of the handler; those of names also rename topics and subscriptions
	// WorkerSettings are settings of workers by the names of their tenants; those of all workers have the empty name.
	WorkerSettings map[string]map[string]string
	Containers     map[string]string // programs by image, which Azure Container Instances runs; empty: the container scaler is off
	GitHub         *github.Seed      // users, repositories and tokens of GitHub; nil: it is off
	Latency        time.Duration     // of each request to Cosmos DB, beside its own
	HostCPU        time.Duration     // CPU time of each invocation in the Functions host, beside its own
	Logger         *slog.Logger
	Output         io.Writer // the handler's lines
}

// System is a set of running parts.
type System struct {
	config Config
	names  bus.Names // of topics and subscriptions, by the settings
	close  []func() error

	ServiceBus *servicebus.Server    // nil where the part runs elsewhere, as are the others
	Cosmos     *cosmos.Server        //
	Entra      *entra.Server         //
	Tenant     *tenant.Server        // nil with Config.Tenants
	Tenants    *tenant.Tenants       // nil without
	KeyVault   *keyvault.Server      //
	Blob       *blob.Server          //
	GitHub     *github.Server        // nil without Config.GitHub
	ARM        *arm.Server           // nil without containers
	Host       *functionshost.Server //
	clock      *clock.Clock
	copies     bool   // the tenants have people of real ones
	listed     []Part // parts that Endpoints lists
	caFile     string
	lines      []Line
	// hostListener is open before the host starts; nil where the host is not one of the parts.
	hostListener net.Listener
}

// Line tells of one part that is running.
type Line struct{ Part, Address, Note string }

// Start starts the parts; they are ready when it returns. ctx bounds the start
// and ends the parts when it ends.
func Start(ctx context.Context, c Config) (*System, error) {
	if len(c.Parts) == 0 {
		c.Parts = AllParts()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	settings := env.New(func(name string) string { return c.Settings[name] })
	bus.ReadNames(settings)
	if err := settings.Err(); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	s := At(c)
	s.listed = slices.Clone(c.Elsewhere)
	if err := errors.Join(s.protectCopies(), s.openClock()); err != nil {
		return nil, err
	}
	if slices.Contains(c.Parts, Host) {
		if err := s.openHostAddress(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", Host, explain(err)), s.Close())
		}
	}
	for _, p := range AllParts() {
		if !slices.Contains(c.Parts, p) {
			continue
		}
		if err := s.start(ctx, p); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", p, explain(err)), s.Close())
		}
		s.listed = append(s.listed, p)
	}
	return s, nil
}

// At is a system that runs elsewhere at known addresses, with its state in DataDir.
func At(c Config) *System {
	if c.Addresses == (Addresses{}) {
		c.Addresses = DefaultAddresses()
	}
	if len(c.Workers) == 0 && len(c.Tenants) == 0 {
		c.Workers = []string{"worker-01"}
	}
	for _, t := range c.Tenants {
		c.Workers = append(slices.Clone(c.Workers), workerOf(t.Name))
	}
	s := &System{config: c, listed: AllParts(), names: bus.ReadNames(env.New(func(name string) string { return c.Settings[name] }))}
	if dir, err := filepath.Abs(c.DataDir); err == nil && c.DataDir != "" {
		s.caFile = filepath.Join(dir, "entra", "ca.pem")
	}
	return s
}

// explain says what to do about the failure that newcomers meet.
func explain(err error) error {
	var taken *net.OpError
	if errors.As(err, &taken) && strings.Contains(taken.Error(), "address already in use") {
		return fmt.Errorf("%w; is another matoolkit running? stop it, or choose other addresses or --free-ports", taken)
	}
	return err
}

func (s *System) start(ctx context.Context, p Part) error {
	switch p {
	case ServiceBus:
		return s.startServiceBus(ctx)
	case Cosmos:
		return s.startCosmos(ctx)
	case Identity:
		return s.startIdentity(ctx)
	case Host:
		return s.startHost(ctx)
	}
	return fmt.Errorf("unknown part: use %v", AllParts())
}

func (s *System) dir(part string) (string, error) {
	if s.config.DataDir == "" {
		return "", nil
	}
	dir := filepath.Join(s.config.DataDir, part)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	unlock, err := lock(dir)
	if err == nil {
		s.close = append(s.close, unlock)
	}
	return dir, err
}

func (s *System) startServiceBus(ctx context.Context) (err error) {
	c := servicebus.Config{Addr: s.config.Addresses.ServiceBus, Key: SASKey, Now: s.clock.Now, Locks: time.Now, Logger: s.config.Logger}
	if c.Topology, err = s.topology(); err != nil {
		return err
	}
	if s.Entra != nil {
		c.VerifyToken = func(token, _ string) error { return s.Entra.VerifyToken(token, entra.ServiceBusAudience) }
	}
	certificate, err := s.certificate()
	if err != nil {
		return err
	}
	c.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	if c.DataDir, err = s.dir("servicebus"); err != nil {
		return err
	}
	if s.ServiceBus, err = servicebus.Start(ctx, c); err != nil {
		return err
	}
	s.config.Addresses.ServiceBus = s.ServiceBus.Addr()
	s.started("Service Bus", "amqp://"+s.ServiceBus.Addr(), s.ServiceBus.Close)
	s.tickWhenMoved()
	return s.startContainers(ctx, c.Topology)
}

func (s *System) startCosmos(ctx context.Context) (err error) {
	c := cosmos.Config{Addr: s.config.Addresses.Cosmos, Latency: s.config.Latency, Logger: s.config.Logger}
	if c.DataDir, err = s.dir("cosmos"); err != nil {
		return err
	}
	if s.Cosmos, err = cosmos.Start(ctx, c); err != nil {
		return err
	}
	s.config.Addresses.Cosmos = strings.TrimPrefix(s.Cosmos.URL(), "http://")
	s.started("Cosmos DB", s.Cosmos.URL(), s.Cosmos.Close)
	db, err := cosmosstore.Open(cosmosstore.Config{Endpoint: s.Cosmos.URL(), Database: Database, Container: Container, Key: cosmos.DefaultKey})
	if err != nil {
		return err
	}
	return db.Provision(ctx)
}

func (s *System) startIdentity(ctx context.Context) (err error) {
	e := entra.DefaultConfig()
	e.Addr, e.Logger = s.config.Addresses.Entra, s.config.Logger
	if e.DataDir, err = s.dir("entra"); err != nil {
		return err
	}
	e.ManagedIdentity = entra.DefaultHandlerClientID
	if host := s.config.Addresses.Host; host != "" {
		for _, name := range []string{host, strings.Replace(host, "127.0.0.1", "localhost", 1)} {
			e.AddRedirectURIs(entra.DefaultConsoleClientID, "http://"+name+"/api/console/")
		}
	}
	if s.config.AutoApprove {
		e.AutoApprove = entra.DefaultAdminUPN
	}
	for _, n := range s.config.Tenants {
		e.Tenants = append(e.Tenants, n.Tenant())
	}
	if s.Entra, err = entra.Start(ctx, e); err != nil {
		return err
	}
	s.config.Addresses.Entra = strings.TrimPrefix(s.Entra.URL(), "https://")
	s.started("Entra ID", s.Entra.URL(), s.Entra.Close)
	if err := s.keepCA(s.Entra.CAPEM()); err != nil {
		return err
	}
	if err := s.startTenants(ctx); err != nil {
		return err
	}
	if err := s.startKeyVault(ctx); err != nil {
		return err
	}
	if err := s.startBlob(ctx); err != nil {
		return err
	}
	return s.startGitHub(ctx)
}

// certificate is a certificate of the local CA, which is Entra ID's also where that part
// runs elsewhere with the same state.
func (s *System) certificate() (tls.Certificate, error) {
	if s.Entra != nil {
		return s.Entra.ServerCertificate()
	}
	dir := ""
	if s.config.DataDir != "" {
		dir = filepath.Join(s.config.DataDir, "entra")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return tls.Certificate{}, err
		}
	}
	authority, err := entra.OpenAuthority(dir)
	if err == nil {
		err = s.keepCA(authority.PEM())
	}
	if err != nil {
		return tls.Certificate{}, err
	}
	return authority.ServerCertificate()
}

// keepCA puts the CA where other programs find it, for as long as this system
// runs where it keeps no state. Where it does, the CA is in a file already.
func (s *System) keepCA(certificate []byte) error {
	if s.caFile != "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "matoolkit-")
	if err != nil {
		return err
	}
	s.close = append(s.close, func() error { return os.RemoveAll(dir) })
	s.caFile = filepath.Join(dir, "ca.pem")
	return os.WriteFile(s.caFile, certificate, 0o600)
}

// openHostAddress opens the port of the host, which starts last: Entra ID needs the console's address before.
func (s *System) openHostAddress(ctx context.Context) (err error) {
	if s.hostListener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", s.config.Addresses.Host); err != nil {
		return err
	}
	s.config.Addresses.Host = s.hostListener.Addr().String()
	s.close = append(s.close, func() error {
		_ = s.hostListener.Close() // the host has closed it, if it started
		return nil
	})
	return nil
}

func (s *System) startHost(ctx context.Context) (err error) {
	c := functionshost.Config{
		AppDir: s.config.AppDir, Addr: s.config.Addresses.Host, Listener: s.hostListener, Settings: s.HandlerEnv(), Logger: s.config.Logger, Output: s.config.Output,
		InvocationCPU: s.config.HostCPU, Exchanges: os.Getenv(functionshost.ExchangesVariable),
	}
	if s.ServiceBus != nil || s.config.DataDir != "" { // else Service Bus would not learn of a move
		c.Clock = s.clock
	}
	if _, err := os.Stat(filepath.Join(c.AppDir, "host.json")); err != nil {
		return fmt.Errorf("%q has no staged Functions app (host.json, handler and one folder per function): run \"make build\", or give another directory with --app", c.AppDir)
	}
	if c.DataDir, err = s.dir("host"); err != nil {
		return err
	}
	if s.Host, err = functionshost.Start(ctx, c); err != nil {
		return err
	}
	s.config.Addresses.Host = strings.TrimPrefix(s.Host.URL(), "http://")
	s.started("Functions host", s.Host.URL()+"/api", s.Host.Close)
	s.lines = append(s.lines, Line{Part: "Operations console", Address: s.ConsoleURL()})
	return nil
}

func (s *System) started(part, address string, stop func() error) {
	s.lines = append(s.lines, Line{Part: part, Address: address})
	s.close = append(s.close, stop)
}

// Lines tell of the parts that are running, in the order they started in.
func (s *System) Lines() []Line { return s.lines }

// Close stops the parts, the last started first.
func (s *System) Close() error {
	var errs []error
	for _, stop := range slices.Backward(s.close) {
		errs = append(errs, stop())
	}
	s.close = nil
	return errors.Join(errs...)
}
