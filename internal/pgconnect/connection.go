// Package pgconnect reads connection strings of PostgreSQL, for the data source and for the store. A
// connection is encrypted and the server's certificate verified, except on this machine. Nothing of it
// comes from the environment or from files that libpq reads, and no error quotes a part of it.
package pgconnect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/matoolkit/matoolkit/internal/loopback"
	"github.com/matoolkit/matoolkit/internal/tlsroots"
)

// Connection is a parsed and validated connection string.
type Connection struct {
	Host           string
	Port           uint16
	Database, User string
	Password       string
	// Scope is the scope of the token that is the password; empty means no token.
	Scope       string
	TLS         *tls.Config // nil: plain, only on loopback
	Application string
	// LoginTimeout bounds connecting and signing in.
	LoginTimeout time.Duration
}

// Error is an error that comes neither from the server nor from the way to it.
type Error struct{ Reason string }

func (e *Error) Error() string { return e.Reason }

const defaultLoginTimeout = 30 * time.Second

// options are the allowed options of a connection string, by libpq's names. Another option
// is refused without its name, which may be the rest of a password with a space in it.
var options = []string{"host", "port", "dbname", "user", "password", "sslmode", "sslrootcert", "connect_timeout", "application_name"}

// tokenHosts are the ends of the names of Azure Database for PostgreSQL, and the scope of
// the tokens for it. A token goes nowhere else.
var tokenHosts = []struct{ suffix, scope string }{
	{".postgres.database.azure.com", "https://ossrdbms-aad.database.windows.net/.default"},
	{".postgres.database.usgovcloudapi.net", "https://ossrdbms-aad.database.usgovcloudapi.net/.default"},
	{".postgres.database.chinacloudapi.cn", "https://ossrdbms-aad.database.chinacloudapi.cn/.default"},
}

// Parse reads "host=… dbname=…" and postgres://… No error quotes a part of it.
func Parse(text string) (*Connection, error) {
	parameters, err := parseParameters(text)
	if err != nil {
		return nil, err
	}
	for name := range parameters {
		if !slices.Contains(options, name) {
			return nil, errors.New("unknown option; use only " + strings.Join(options, ", ") + " (put a value that contains a space in apostrophes, or percent-encode it in a URL)")
		}
	}
	c := &Connection{
		Host: parameters["host"], Port: 5432, Database: parameters["dbname"], User: parameters["user"], Password: parameters["password"],
		Application: "matoolkit", LoginTimeout: defaultLoginTimeout,
	}
	if v := parameters["application_name"]; v != "" {
		c.Application = v
	}
	if err := c.setServer(parameters); err != nil {
		return nil, err
	}
	if err := c.setTLS(parameters); err != nil {
		return nil, err
	}
	return c, c.setSignIn()
}

func parseParameters(text string) (map[string]string, error) {
	scheme, _, isURL := strings.Cut(text, "://")
	switch {
	case strings.ContainsRune(text, 0):
		return nil, errors.New("the connection contains a NUL byte")
	case isURL && (scheme == "postgres" || scheme == "postgresql"):
		return ofURL(text)
	case !isURL && strings.Contains(text, "="), isURL && strings.Contains(scheme, "="): // the :// of a value
		return ofKeywords(text)
	}
	return nil, errors.New(`use postgres://user:password@host:port/database, or "host=… port=… dbname=… user=… password=…"; to try the runbook without PostgreSQL, use type: sql with sqlite:PATH, or type: csv`)
}

var errNotUnderstood = errors.New("the connection is not a valid URL; percent-encode characters such as @, /, ? and # in user and password")

// ofURL gives the parameters of postgres://user:password@host:port/database?name=value.
func ofURL(text string) (map[string]string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Fragment != "" {
		return nil, errNotUnderstood
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errNotUnderstood
	}
	found := map[string]string{}
	for name, values := range query {
		if len(values) > 1 {
			return nil, errTwice
		}
		found[name] = values[0]
	}
	password, _ := u.User.Password()
	for name, value := range map[string]string{
		"host": u.Hostname(), "port": u.Port(), "dbname": strings.TrimPrefix(u.Path, "/"), "user": u.User.Username(), "password": password,
	} {
		if value == "" {
			continue
		}
		if found[name] != "" {
			return nil, errTwice
		}
		found[name] = value
	}
	return found, nil
}

var errTwice = errors.New("an option is given twice")

// ofKeywords gives the parameters of "name=value name='a value'", with a backslash before
// what stands for itself.
func ofKeywords(text string) (map[string]string, error) {
	found := map[string]string{}
	for rest := strings.TrimLeft(text, space); rest != ""; rest = strings.TrimLeft(rest, space) {
		name, after, ok := strings.Cut(rest, "=")
		name = strings.TrimRight(name, space)
		if !ok || name == "" || strings.ContainsAny(name, space) {
			return nil, errors.New("an option has no value; write name=value, with a space between two of them")
		}
		value, after, ok := ofValue(strings.TrimLeft(after, space))
		if !ok {
			return nil, errors.New("an apostrophe or a backslash at the end is not closed")
		}
		if _, twice := found[name]; twice {
			return nil, errTwice
		}
		found[name], rest = value, after
	}
	return found, nil
}

const space = " \t\r\n\v\f"

// ofValue reads the value that s begins with.
func ofValue(s string) (value, after string, ok bool) {
	quoted := strings.HasPrefix(s, "'")
	if quoted {
		s = s[1:]
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			if i++; i == len(s) {
				return "", "", false
			}
			b.WriteByte(s[i])
		case quoted && s[i] == '\'':
			return b.String(), s[i+1:], true
		case !quoted && strings.IndexByte(space, s[i]) >= 0:
			return b.String(), s[i:], true
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), "", !quoted
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

func (c *Connection) setServer(parameters map[string]string) error {
	switch {
	case c.Host == "":
		return errors.New("the server is missing: set host")
	case strings.HasPrefix(c.Host, "/"):
		return errors.New("sockets are not supported; use host=localhost")
	case strings.Contains(c.Host, ","):
		return errors.New("give one host")
	case net.ParseIP(c.Host) == nil && !hostName.MatchString(c.Host):
		return errors.New("host is not a host name")
	case c.Database == "":
		return errors.New("the database is missing: set dbname")
	case c.User == "":
		return errors.New("the user is missing: set user")
	}
	if v := parameters["port"]; v != "" {
		port, err := strconv.ParseUint(v, 10, 16)
		if err != nil || port == 0 {
			return errors.New("port is not a number from 1 to 65535")
		}
		c.Port = uint16(port)
	}
	if v, ok := parameters["connect_timeout"]; ok {
		seconds, err := strconv.ParseUint(v, 10, 16)
		if err != nil || seconds == 0 {
			return errors.New("connect_timeout is not a number of seconds from 1 to 65535")
		}
		c.LoginTimeout = time.Duration(seconds) * time.Second
	}
	return nil
}

// setTLS always verifies the certificate and its name, also where libpq would encrypt only.
func (c *Connection) setTLS(parameters map[string]string) error {
	local := loopback.Is(c.Host)
	mode, file := parameters["sslmode"], parameters["sslrootcert"]
	switch mode {
	case "require", "verify-ca", "verify-full":
	case "":
		if local && file == "" {
			return nil
		}
	case "disable":
		if !local {
			return errors.New("the connection is always encrypted: remove sslmode, or set it to verify-full; disable is allowed only for a server on this machine (localhost, 127.0.0.1)")
		}
		if file != "" {
			return errors.New("sslrootcert has no effect with sslmode=disable; remove one of the two")
		}
		return nil
	default:
		return errors.New("unsupported sslmode; use verify-full (or require, which here verifies the certificate too)")
	}
	c.TLS = &tls.Config{ServerName: c.Host, MinVersion: tls.VersionTLS12}
	if file == "" || file == "system" {
		return nil
	}
	var err error
	c.TLS.RootCAs, err = tlsroots.File("sslrootcert", file)
	return err
}

func (c *Connection) setSignIn() error {
	if c.Password != "" {
		return nil
	}
	for _, h := range tokenHosts {
		if strings.HasSuffix(strings.ToLower(c.Host), h.suffix) {
			c.Scope = h.scope
			return nil
		}
	}
	if !loopback.Is(c.Host) {
		return errors.New("authentication is missing: set password (only to Azure Database for PostgreSQL, such as name.postgres.database.azure.com, the handler's identity signs in without one)")
	}
	return nil // a server on this machine may trust its users
}

// parsed is a configuration that the driver parsed itself, on which it insists. It does so with the
// environment; Configure replaces all that comes from there.
const parsed = "host=localhost port=5432 user=u password=p dbname=d sslmode=disable connect_timeout=0 target_session_attrs=any"

// ParsedBy returns a configuration for Configure, which one of the driver's packages parses.
func ParsedBy[T any](parse func(string) (T, error)) (T, error) {
	config, err := parse(parsed)
	if err != nil {
		return config, &Error{"the driver refuses one of the environment variables that begin with PG; remove them from the settings of the handler"}
	}
	return config, nil
}

// Configure makes a configuration of the driver one of this connection. The token of a connection with
// a Scope is not in it: see Token. A message of the server, such as a row, has at most so many bytes.
func (c *Connection) Configure(config *pgconn.Config, dial pgconn.DialFunc, most int) {
	config.Host, config.Port, config.Database, config.User, config.Password = c.Host, c.Port, c.Database, c.User, c.Password
	config.TLSConfig, config.Fallbacks, config.SSLNegotiation, config.SSLCertMode = c.TLS, nil, "", "disable"
	config.RuntimeParams = map[string]string{"application_name": c.Application, "client_encoding": "UTF8"}
	config.MinProtocolVersion, config.MaxProtocolVersion = "3.0", "3.0"
	config.ChannelBinding, config.RequireAuth, config.ValidateConnect = "prefer", "", nil
	config.KerberosSrvName, config.KerberosSpn = "", ""
	config.MaxProtocolMessageBodyLen = most
	config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil } // dial looks it up
	config.DialFunc = c.guard(dial)
}

// Token returns the token that is the password of a connection with a Scope.
func (c *Connection) Token(ctx context.Context, identity azcore.TokenCredential) (string, error) {
	token, err := identity.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{c.Scope}})
	if err != nil {
		return "", fmt.Errorf("no token for %s: %w", c.Scope, err)
	}
	return token.Token, nil
}

// guard dials, and makes sure that a plain connection stays on this machine.
func (c *Connection) guard(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil || c.TLS != nil {
			return conn, err
		}
		if a, ok := conn.RemoteAddr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
			_ = conn.Close()
			return nil, &Error{"the connection is not encrypted, and the server is not on this machine"}
		}
		return conn, nil
	}
}
