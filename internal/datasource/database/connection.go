package database

import (
	"crypto/tls"
	"errors"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/matoolkit/matoolkit/internal/loopback"
	"github.com/matoolkit/matoolkit/internal/tlsroots"
)

// connection is a parsed and validated connection string of SQL Server.
type connection struct {
	config msdsn.Config
	// trusting: the certificate is not checked. Only on loopback.
	trustsServer bool
	signIn       signIn
	// loginTimeout bounds connecting and signing in.
	loginTimeout time.Duration
}

// defaultLoginTimeout lets a database that was paused wake up.
const defaultLoginTimeout = 60 * time.Second

// options are the allowed options of a connection string, by the driver's names. Another
// option is refused without its name, which may be the rest of a password with a semicolon
// in it.
var options = []string{
	msdsn.Server, msdsn.Port, msdsn.Protocol, msdsn.Database, msdsn.UserID, msdsn.Password, "authentication", "fedauth",
	msdsn.Encrypt, msdsn.TrustServerCertificate, msdsn.Certificate, msdsn.HostNameInCertificate, msdsn.ApplicationIntent,
	msdsn.ConnectionTimeout, msdsn.AppName, msdsn.WorkstationID, msdsn.MultiSubnetFailover,
	"persist security info", "multipleactiveresultsets",
}

const supported = "Server, Database, User ID, Password, Authentication, Encrypt, TrustServerCertificate, Certificate, " +
	"HostNameInCertificate, ApplicationIntent, Connection Timeout, App Name, Workstation ID, MultiSubnetFailover"

// parseConnection reads "Server=…;…" and sqlserver://… No error quotes a part of it.
func parseConnection(text string, dataverse bool) (*connection, error) {
	config, err := msdsn.Parse(text)
	parameters := config.Parameters
	if err := checkOptions(parameters); err != nil {
		return nil, err
	}
	c := &connection{config: config, loginTimeout: defaultLoginTimeout}
	if err != nil && config.Host == "" {
		return nil, errNotUnderstood
	}
	if err := c.setTLS(parameters); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, errNotUnderstood
	}
	if err := c.setServer(parameters, dataverse); err != nil {
		return nil, err
	}
	if text, ok := parameters[msdsn.ConnectionTimeout]; ok {
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			c.loginTimeout = time.Duration(n) * time.Second
		}
	}
	if v, ok := parameters["multipleactiveresultsets"]; ok && !isNo(v) {
		return nil, errors.New("MultipleActiveResultSets is not supported; remove it")
	}
	if err := c.setIntent(parameters, dataverse); err != nil {
		return nil, err
	}
	c.signIn, err = parseSignIn(c.config, parameters, dataverse)
	if err != nil {
		return nil, err
	}
	// The driver takes the timeout of the connection for one of every read, and a failed
	// query for one to repeat.
	c.config.ConnTimeout, c.config.DisableRetry = 0, true
	c.config.DialTimeout = -1 // the login's is the whole
	c.config.LogFlags = 0
	c.config.Encoding = msdsn.EncodeParameters{GuidConversion: true, Timezone: time.UTC}
	if _, ok := parameters[msdsn.AppName]; !ok {
		c.config.AppName = "matoolkit"
	}
	return c, nil
}

// checkOptions refuses options that are not supported.
func checkOptions(parameters map[string]string) error {
	for name := range parameters {
		switch {
		case name == "integrated security" || name == "trusted_connection":
			return errors.New("Windows authentication (Integrated Security) is not supported; use Authentication=Active Directory Managed Identity, or User ID and Password")
		case !slices.Contains(options, name):
			return errors.New("unknown option; use only " + supported + " (put a value that contains a semicolon in quotation marks)")
		}
	}
	return nil
}

// errNotUnderstood stands for the errors of the driver, which quote values.
var errNotUnderstood = errors.New("invalid port, or invalid value of an option that is a number, True or False")

var (
	hostName      = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	dataverseName = regexp.MustCompile(`(?i)^[a-z0-9-]+\.(crm[0-9]*\.dynamics\.com|crm\.microsoftdynamics\.us|crm\.appsplatform\.us|crm\.dynamics\.cn)$`)
)

func (c *connection) setServer(parameters map[string]string, dataverse bool) error {
	if v, ok := parameters[msdsn.Protocol]; ok && v != "tcp" {
		return errors.New("only TCP is supported")
	}
	if strings.TrimSpace(parameters[msdsn.Server]) == "" {
		return errors.New("the server is missing")
	}
	host := c.config.Host
	if net.ParseIP(host) == nil && !hostName.MatchString(host) {
		return errors.New("the server is not a host name; use Server=host,port")
	}
	if c.config.Instance != "" && c.config.Port == 0 {
		return errors.New("instance names are not supported; give the port: Server=host,port")
	}
	if !dataverse || loopback.Is(host) {
		return nil
	}
	if !dataverseName.MatchString(host) {
		return errors.New("the server is not a Dataverse environment such as organization.crm4.dynamics.com")
	}
	if p := c.config.Port; p != 0 && p != 1433 && p != 5558 {
		return errors.New("the port of Dataverse's TDS endpoint is 1433 or 5558")
	}
	return nil
}

// setTLS sets strict encryption explicitly, independent of the driver's defaults.
func (c *connection) setTLS(parameters map[string]string) error {
	switch strings.ToLower(parameters[msdsn.Encrypt]) {
	case "", "mandatory", "yes", "1", "t", "true":
		c.config.Encryption = msdsn.EncryptionRequired
	case "strict":
		c.config.Encryption = msdsn.EncryptionStrict
	default:
		return errors.New("the connection is always encrypted: remove Encrypt, or set it to True or Strict")
	}
	if v, ok := parameters[msdsn.TrustServerCertificate]; ok && !isNo(v) {
		if !loopback.Is(c.config.Host) {
			return errors.New("the server's certificate is always checked: TrustServerCertificate is allowed only for a server on this machine (localhost, 127.0.0.1); for a certificate of your own CA, name the PEM file of the CA with Certificate")
		}
		c.trustsServer = true
	}
	c.config.TrustServerCertificate = c.trustsServer
	name := c.config.Host
	if v := parameters[msdsn.HostNameInCertificate]; v != "" {
		name = v
	}
	c.config.TLSConfig = &tls.Config{
		ServerName: name, MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.trustsServer, //nolint:gosec // where the connection string asks for it
		// SQL Server expects a packet to be one record.
		DynamicRecordSizingDisabled: true,
	}
	file := parameters[msdsn.Certificate]
	if file == "" {
		return nil
	}
	var err error
	c.config.TLSConfig.RootCAs, err = tlsroots.File("Certificate", file)
	return err
}

// setIntent says that the connection only reads, which may lead to a replica. It requires
// the name of a database, without which it has no effect. Dataverse gets none: its endpoint
// only reads, and its treatment of an intent is not documented.
func (c *connection) setIntent(parameters map[string]string, dataverse bool) error {
	switch v := strings.ToLower(parameters[msdsn.ApplicationIntent]); {
	case v == "readonly" || v == "" && !dataverse:
		c.config.ReadOnlyIntent = c.config.Database != ""
	case v == "readwrite" || v == "":
		c.config.ReadOnlyIntent = false
	default:
		return errors.New("ApplicationIntent must be ReadOnly or ReadWrite")
	}
	return nil
}

func isNo(v string) bool {
	return slices.Contains([]string{"false", "no", "0", "f"}, strings.ToLower(strings.TrimSpace(v)))
}
