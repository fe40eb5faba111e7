// Package exchange answers the requests of the admin API of Exchange Online that a tenant
// simulates.
package exchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// Exception types of the answers of Exchange Online.
const (
	objectNotFound     = "Microsoft.Exchange.Configuration.Tasks.ManagementObjectNotFoundException"
	ambiguous          = "Microsoft.Exchange.Configuration.Tasks.ManagementObjectAmbiguousException"
	parameterBinding   = "System.Management.Automation.ParameterBindingException"
	proxyExists        = "Microsoft.Exchange.Configuration.ObjectModel.ProxyAddressExistsException"
	invokeException    = "Microsoft.Exchange.Management.PSDirectInvoke.DirectInvokeCmdletExecutionException"
	invalidData        = "Microsoft.Exchange.Data.DataValidationException"
	memberExists       = "Microsoft.Exchange.Management.Tasks.MemberAlreadyExistsException"
	memberNotFound     = "Microsoft.Exchange.Management.Tasks.MemberNotFoundException"
	recipientTask      = "Microsoft.Exchange.Management.Tasks.RecipientTaskException"
	notAccepted        = "Microsoft.Exchange.Configuration.ObjectModel.NotAcceptedDomainException"
	entryExists        = "Microsoft.Exchange.Management.StoreTasks.UserAlreadyExistsInPermissionEntryException"
	entryNotFound      = "Microsoft.Exchange.Management.StoreTasks.UserNotFoundInPermissionEntryException"
	invalidUser        = "Microsoft.Exchange.Management.StoreTasks.InvalidExternalUserIdException"
	migrationPermanent = "Microsoft.Exchange.Migration.MigrationPermanentException"
	serviceException   = "Microsoft.Exchange.Admin.OData.Core.ODataServiceException"
)

// Audience is the audience of tokens for the admin API.
const Audience = "https://outlook.office365.com"

const parallel = 3 // commands at a time in one tenant

// Config of a Service.
type Config struct {
	Directory *directory.Directory
	TenantID  string

	VerifyToken func(token, audience string) error // nil accepts any token that is not empty

	ExternalMovesPrimary func() bool // a changed ExternalEmailAddress takes the primary address along
	IgnoresPrimarySMTP   func() bool // New-MailUser ignores PrimarySmtpAddress

	MoveDelay time.Duration // of the first copy of a mailbox, and of the completion of its move
	// Linked tells whether a migration endpoint is another tenant of the system, which carries out the other half of a move. Nil: none is.
	Linked func(endpoint string) bool

	// Provision gives users whose licences changed their mailboxes, once it is time. The directory is locked.
	Provision func() error

	Times  func() (now, asOf time.Time) // of a write, and up to which readers have seen writes
	Logger *slog.Logger
}

// Service is Exchange for one tenant.
type Service struct {
	Config
	slots chan struct{} // for commands that run at the same time
}

// New is Exchange for one tenant.
func New(c Config) *Service {
	if c.Linked == nil {
		c.Linked = func(string) bool { return false }
	}
	return &Service{Config: c, slots: make(chan struct{}, parallel)}
}

type call struct {
	*odata.Call
	exchange *command
}

type reply = odata.Reply

// exchangeError is the exception type of an error, which only the Exchange shape has.
type exchangeError string

// body is the error as the admin API writes it: a generic outer message, the
// real one in details.
func (e exchangeError) body(a *odata.Fault) any {
	const generic = "Error executing cmdlet"
	return map[string]any{"error": map[string]any{
		"code": a.Code, "message": generic,
		"details": []any{map[string]any{
			"code": "Client", "target": "", "message": e.id() + "|" + string(e) + "|" + a.Message,
		}},
		"innererror": map[string]any{
			"message": generic, "type": serviceException, "stacktrace": "",
			"internalexception": map[string]any{
				"message": "Exception of type '" + invokeException + "' was thrown.", "type": invokeException, "stacktrace": "",
			},
		},
		"adminapi.warnings@odata.type": "#Collection(String)", "@adminapi.warnings": []string{},
	}}
}

// id is the number of an error. That of a missing object is known from
// reports; the others only look like one.
func (e exchangeError) id() string {
	if e == objectNotFound {
		return "Ex6F9304"
	}
	return fmt.Sprintf("Ex%06X", crc32.ChecksumIEEE([]byte(e))&0xffffff)
}

// Failure is an error in the shape that only Exchange has.
func Failure(status int, code, format string, args ...any) *odata.Reply {
	return exchangeFailure(status, code, serviceException, format, args...)
}

func exchangeFailure(status int, code, exception, format string, args ...any) *reply {
	return &reply{Status: status, Fault: &odata.Fault{
		Code: code, Message: fmt.Sprintf(format, args...), Body: exchangeError(exception).body,
	}}
}

func cmdletFailure(exception, format string, args ...any) *reply {
	return exchangeFailure(http.StatusBadRequest, "BadRequest", exception, format, args...)
}

func recipientNotFound(identity string) *reply {
	return exchangeFailure(http.StatusNotFound, "NotFound", objectNotFound,
		"The operation couldn't be performed because object '%s' couldn't be found on 'localhost.matoolkit.prod.outlook.com'.", identity)
}

// Authorize refuses a request without a good token: one without the app permission is 401, one without a
// directory role is 403.
func (s *Service) Authorize(r *http.Request) *reply {
	token := odata.Bearer(r)
	var err error
	if token == "" {
		err = errors.New("no bearer token")
	} else if s.VerifyToken != nil {
		err = s.VerifyToken(token, Audience)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, odata.ErrMissingRole):
		return exchangeFailure(http.StatusForbidden, "Forbidden", serviceException,
			"The role assigned to application isn't supported in this scenario. Please check online documentation for assigning correct Directory Roles to Azure AD Application for EXO App-Only Authentication.")
	default:
		return &reply{
			Status: http.StatusUnauthorized, Raw: []byte{},
			Header: map[string]string{"WWW-Authenticate": `Bearer client_id="00000002-0000-0ff1-ce00-000000000000", error="invalid_token"`},
		}
	}
}

// command is a cmdlet with its parameters, whose names have no case.
type command struct {
	name       string
	parameters map[string]any // by folded name
	names      map[string]string
	warnings   []string
}

// Route reads the command of an InvokeCommand request.
func (s *Service) Route(c *odata.Call) *odata.Reply { return s.route(&call{Call: c}) }

func (s *Service) route(c *call) *reply {
	if len(c.Path) == 3 && c.Path[0] == "v1.0" && c.Path[2] == "InvokeCommand" {
		return exchangeFailure(http.StatusMethodNotAllowed, "MethodNotAllowed", serviceException, "InvokeCommand exists in the beta version only.")
	}
	if len(c.Path) != 3 || c.Path[0] != "beta" || c.Path[2] != "InvokeCommand" {
		return exchangeFailure(http.StatusNotFound, "NotFound", serviceException, "Resource not found for the segment '%s'.", c.Path[len(c.Path)-1])
	}
	if c.Method != http.MethodPost {
		return exchangeFailure(http.StatusMethodNotAllowed, "MethodNotAllowed", serviceException, "The requested resource does not support http method '%s'.", c.Method)
	}
	if !strings.EqualFold(c.Path[1], s.TenantID) {
		return exchangeFailure(http.StatusForbidden, "Forbidden", serviceException, "The token is not for the tenant '%s'.", c.Path[1])
	}
	if mediaType, _, _ := strings.Cut(c.Header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(mediaType), "application/json") {
		return exchangeFailure(http.StatusUnsupportedMediaType, "UnsupportedMediaType", serviceException, "Content-Type must be application/json.")
	}
	var body struct {
		CmdletInput *struct {
			CmdletName string
			Parameters map[string]any
		}
	}
	if err := json.Unmarshal(c.Body, &body); err != nil || body.CmdletInput == nil || body.CmdletInput.CmdletName == "" {
		return cmdletFailure(serviceException, "The request body is not a CmdletInput.")
	}
	name, known := cmdletName(body.CmdletInput.CmdletName)
	if !known {
		return unknownCmdlet(c)
	}
	c.Op = name
	c.exchange = &command{name: name, parameters: map[string]any{}, names: map[string]string{}}
	for parameter, value := range body.CmdletInput.Parameters {
		if value == nil && !cleared[directory.Fold(parameter)] {
			return cmdletFailure(parameterBinding, "Cannot bind argument to parameter '%s' because it is null.", parameter)
		}
		if _, allowed := cmdlets[name].parameters[directory.Fold(parameter)]; !allowed {
			return cmdletFailure(parameterBinding, "A parameter cannot be found that matches parameter name '%s'.", parameter)
		}
		c.exchange.parameters[directory.Fold(parameter)] = value
		c.exchange.names[directory.Fold(parameter)] = parameter
	}
	c.Serve = func() *reply { return s.runCommand(c) }
	return nil
}

// unknownCmdlet answers a cmdlet that does not exist or is outside the role:
// 403 and, to a client that takes gzip, NUL bytes labelled as gzip, as the
// service does.
func unknownCmdlet(c *call) *reply {
	r := &reply{Status: http.StatusForbidden, Raw: []byte{}}
	if strings.Contains(c.Header.Get("Accept-Encoding"), "gzip") {
		r.Raw = make([]byte, 32)
		r.Header = map[string]string{"Content-Encoding": "gzip", "Content-Type": "application/json"}
	}
	return r
}

// runCommand runs a cmdlet unless too many are running.
func (s *Service) runCommand(c *call) *reply {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		return exchangeFailure(http.StatusTooManyRequests, "TooManyRequests", serviceException,
			"The request exceeded the maximum number of concurrent requests per tenant. Please try again later.")
	}
	s.Directory.Lock()
	defer s.Directory.Unlock()
	if err := errors.Join(s.FinishMoves(), s.Provision()); err != nil {
		return s.storageFailed(err)
	}
	return cmdlets[c.exchange.name].run(s, c)
}

func (s *Service) storageFailed(err error) *reply {
	s.Logger.Error("cannot save the tenant", "error", err)
	return Failure(http.StatusInternalServerError, "InternalServerError", "The service could not save the change.")
}

// nothing is the answer of a cmdlet that prints nothing, which has no value.
func (c *call) nothing() *reply { return odata.OK(c.answer()) }

// answer has the members of every answer of a cmdlet.
func (c *call) answer() map[string]any {
	return map[string]any{
		"@odata.context":               c.Base + "/adminapi/beta/" + c.Path[1] + "/$metadata#Collection(Exchange.GenericHashTable)",
		"adminapi.warnings@odata.type": "#Collection(String)", "@adminapi.warnings": append([]string{}, c.exchange.warnings...),
	}
}

// results is the answer of a cmdlet that prints objects, one page of them.
func (c *call) results(objects []map[string]any) *reply {
	return resultsOf(c, slices.Values(objects), func(o map[string]any) map[string]any { return o })
}

// resultsOf is results for objects that are many: those of other pages are not printed.
func resultsOf[T any](c *call, objects iter.Seq[T], printed func(T) map[string]any) *reply {
	limit := 1000
	if value, present := c.exchange.parameters["resultsize"]; present {
		if n, isNumber := value.(float64); isNumber && n >= 0 && n == float64(int(n)) {
			limit = int(n)
		} else if strings.EqualFold(directory.Text(value), "Unlimited") {
			limit = math.MaxInt
		} else {
			return cmdletFailure(parameterBinding, "Cannot process argument transformation on parameter 'ResultSize'. Cannot convert value \"%v\" to type \"Microsoft.Exchange.Data.Unlimited`1[System.UInt32]\".", value)
		}
	}
	size, skip := c.pageOf()
	page, count, more := []map[string]any{}, 0, false
	for o := range objects {
		if more = count == limit; more {
			c.warn("There are more results available than are currently displayed. To view them, increase the value for the ResultSize parameter.")
			break
		}
		if count >= skip && len(page) < size {
			page = append(page, printed(o))
		}
		count++
	}
	body := c.answer()
	body["value"] = page
	if end := skip + len(page); end < count {
		body["@odata.nextLink"] = fmt.Sprintf("%s/adminapi/beta/%s/InvokeCommand?$skiptoken=%d", c.Base, c.Path[1], end)
	}
	return odata.OK(body)
}

// pageOf reads the page size of the Prefer header and the place of a nextLink.
func (c *call) pageOf() (size, skip int) {
	size = 1000
	for _, preference := range strings.FieldsFunc(c.Header.Get("Prefer"), func(r rune) bool { return r == ',' || r == ';' || r == ' ' }) {
		var n int
		if _, err := fmt.Sscanf(preference, "odata.maxpagesize=%d", &n); err == nil && n > 0 {
			size = min(size, n)
		}
	}
	if token, present := c.Option("skiptoken"); present {
		_, _ = fmt.Sscanf(token, "%d", &skip) // what is no number is the beginning
		skip = max(skip, 0)
	}
	return size, skip
}

func (c *call) warn(warning string) { c.exchange.warnings = append(c.exchange.warnings, warning) }

// Commands is how many Exchange commands run at this moment.
func (s *Service) Commands() int { return len(s.slots) }
