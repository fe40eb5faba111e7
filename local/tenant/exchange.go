package tenant

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"strings"
)

// Exception types of the answers of Exchange Online.
const (
	objectNotFound   = "Microsoft.Exchange.Configuration.Tasks.ManagementObjectNotFoundException"
	parameterBinding = "System.Management.Automation.ParameterBindingException"
	proxyExists      = "Microsoft.Exchange.Configuration.ObjectModel.ProxyAddressExistsException"
	invokeException  = "Microsoft.Exchange.Management.PSDirectInvoke.DirectInvokeCmdletExecutionException"
	invalidData      = "Microsoft.Exchange.Data.DataValidationException"
	memberExists     = "Microsoft.Exchange.Management.Tasks.MemberAlreadyExistsException"
	memberNotFound   = "Microsoft.Exchange.Management.Tasks.MemberNotFoundException"
	recipientTask    = "Microsoft.Exchange.Management.Tasks.RecipientTaskException"
	notAccepted      = "Microsoft.Exchange.Configuration.ObjectModel.NotAcceptedDomainException"
	serviceException = "Microsoft.Exchange.Admin.OData.Core.ODataServiceException"
)

// exchangeError is the part of an error that only the Exchange shape has.
type exchangeError struct{ exception string }

// body is the error as the admin API writes it: a generic outer message, the
// real one in details.
func (e *exchangeError) body(a *apiError) any {
	const generic = "Error executing cmdlet"
	return map[string]any{"error": map[string]any{
		"code": a.code, "message": generic,
		"details": []any{map[string]any{
			"code": "Client", "target": "", "message": e.id() + "|" + e.exception + "|" + a.message,
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
func (e *exchangeError) id() string {
	if e.exception == objectNotFound {
		return "Ex6F9304"
	}
	return fmt.Sprintf("Ex%06X", crc32.ChecksumIEEE([]byte(e.exception))&0xffffff)
}

func exchangeFailure(status int, code, exception, format string, args ...any) *reply {
	return &reply{status: status, fault: &apiError{
		code: code, message: fmt.Sprintf(format, args...), exchange: &exchangeError{exception: exception},
	}}
}

func cmdletFailure(exception, format string, args ...any) *reply {
	return exchangeFailure(http.StatusBadRequest, "BadRequest", exception, format, args...)
}

func recipientNotFound(identity string) *reply {
	return exchangeFailure(http.StatusNotFound, "NotFound", objectNotFound,
		"The operation couldn't be performed because object '%s' couldn't be found on 'localhost.matoolkit.prod.outlook.com'.", identity)
}

// authorizeExchange: a token without the app permission is 401, one without a
// directory role is 403.
func (s *Server) authorizeExchange(r *http.Request) *reply {
	token := bearer(r)
	var err error
	if token == "" {
		err = errors.New("no bearer token")
	} else if s.cfg.VerifyToken != nil {
		err = s.cfg.VerifyToken(token, ExchangeAudience)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrMissingRole):
		return exchangeFailure(http.StatusForbidden, "Forbidden", serviceException,
			"The role assigned to application isn't supported in this scenario. Please check online documentation for assigning correct Directory Roles to Azure AD Application for EXO App-Only Authentication.")
	default:
		return &reply{
			status: http.StatusUnauthorized, raw: []byte{},
			header: map[string]string{"WWW-Authenticate": `Bearer client_id="00000002-0000-0ff1-ce00-000000000000", error="invalid_token"`},
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

// routeExchange reads the command of an InvokeCommand request.
func (s *Server) routeExchange(c *call) *reply {
	if len(c.path) == 3 && c.path[0] == "v1.0" && c.path[2] == "InvokeCommand" {
		return exchangeFailure(http.StatusMethodNotAllowed, "MethodNotAllowed", serviceException, "InvokeCommand exists in the beta version only.")
	}
	if len(c.path) != 3 || c.path[0] != "beta" || c.path[2] != "InvokeCommand" {
		return exchangeFailure(http.StatusNotFound, "NotFound", serviceException, "Resource not found for the segment '%s'.", c.path[len(c.path)-1])
	}
	if c.method != http.MethodPost {
		return exchangeFailure(http.StatusMethodNotAllowed, "MethodNotAllowed", serviceException, "The requested resource does not support http method '%s'.", c.method)
	}
	if !strings.EqualFold(c.path[1], s.cfg.TenantID) {
		return exchangeFailure(http.StatusForbidden, "Forbidden", serviceException, "The token is not for the tenant '%s'.", c.path[1])
	}
	if mediaType, _, _ := strings.Cut(c.header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(mediaType), "application/json") {
		return exchangeFailure(http.StatusUnsupportedMediaType, "UnsupportedMediaType", serviceException, "Content-Type must be application/json.")
	}
	var body struct {
		CmdletInput *struct {
			CmdletName string
			Parameters map[string]any
		}
	}
	if err := json.Unmarshal(c.body, &body); err != nil || body.CmdletInput == nil || body.CmdletInput.CmdletName == "" {
		return cmdletFailure(serviceException, "The request body is not a CmdletInput.")
	}
	name, known := cmdletName(body.CmdletInput.CmdletName)
	if !known {
		return unknownCmdlet(c)
	}
	c.op = name
	c.exchange = &command{name: name, parameters: map[string]any{}, names: map[string]string{}}
	for parameter, value := range body.CmdletInput.Parameters {
		if value == nil && !cleared[fold(parameter)] {
			return cmdletFailure(parameterBinding, "Cannot bind argument to parameter '%s' because it is null.", parameter)
		}
		if _, allowed := cmdlets[name].parameters[fold(parameter)]; !allowed {
			return cmdletFailure(parameterBinding, "A parameter cannot be found that matches parameter name '%s'.", parameter)
		}
		c.exchange.parameters[fold(parameter)] = value
		c.exchange.names[fold(parameter)] = parameter
	}
	c.serve = s.runCommand
	return nil
}

// unknownCmdlet answers a cmdlet that does not exist or is outside the role:
// 403 and, to a client that takes gzip, NUL bytes labelled as gzip, as the
// service does.
func unknownCmdlet(c *call) *reply {
	r := &reply{status: http.StatusForbidden, raw: []byte{}}
	if strings.Contains(c.header.Get("Accept-Encoding"), "gzip") {
		r.raw = make([]byte, 32)
		r.header = map[string]string{"Content-Encoding": "gzip", "Content-Type": "application/json"}
	}
	return r
}

// runCommand runs a cmdlet unless too many are running.
func (s *Server) runCommand(c *call) *reply {
	select {
	case s.exchange <- struct{}{}:
		defer func() { <-s.exchange }()
	default:
		return exchangeFailure(http.StatusTooManyRequests, "TooManyRequests", serviceException,
			"The request exceeded the maximum number of concurrent requests per tenant. Please try again later.")
	}
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	answer := cmdlets[c.exchange.name].run(s, c)
	if answer.fault != nil && answer.fault.exchange == nil { // storageFailed
		answer.fault.exchange = &exchangeError{exception: serviceException}
	}
	return answer
}

// results is the answer of a cmdlet that prints objects, one page of them.
func (c *call) results(objects []map[string]any) *reply {
	limit := 1000
	if value, present := c.exchange.parameters["resultsize"]; present {
		if n, isNumber := value.(float64); isNumber && n >= 0 && n == float64(int(n)) {
			limit = int(n)
		} else if strings.EqualFold(text(value), "Unlimited") {
			limit = len(objects)
		} else {
			return cmdletFailure(parameterBinding, "Cannot process argument transformation on parameter 'ResultSize'. Cannot convert value \"%v\" to type \"Microsoft.Exchange.Data.Unlimited`1[System.UInt32]\".", value)
		}
	}
	if len(objects) > limit {
		objects = objects[:limit]
		c.warn("There are more results available than are currently displayed. To view them, increase the value for the ResultSize parameter.")
	}
	size, skip := c.pageOf()
	start := min(skip, len(objects))
	end := min(start+size, len(objects))
	page := objects[start:end]
	if page == nil {
		page = []map[string]any{}
	}
	body := map[string]any{
		"@odata.context": c.base + "/adminapi/beta/" + c.path[1] + "/$metadata#Collection(Exchange.GenericHashTable)",
		"value":          page, "adminapi.warnings@odata.type": "#Collection(String)", "@adminapi.warnings": append([]string{}, c.exchange.warnings...),
	}
	if end < len(objects) {
		body["@odata.nextLink"] = fmt.Sprintf("%s/adminapi/beta/%s/InvokeCommand?$skiptoken=%d", c.base, c.path[1], end)
	}
	return ok(body)
}

// pageOf reads the page size of the Prefer header and the place of a nextLink.
func (c *call) pageOf() (size, skip int) {
	size = 1000
	for _, preference := range strings.FieldsFunc(c.header.Get("Prefer"), func(r rune) bool { return r == ',' || r == ';' || r == ' ' }) {
		var n int
		if _, err := fmt.Sscanf(preference, "odata.maxpagesize=%d", &n); err == nil && n > 0 {
			size = min(size, n)
		}
	}
	if token, present := c.option("skiptoken"); present {
		_, _ = fmt.Sscanf(token, "%d", &skip) // what is no number is the beginning
		skip = max(skip, 0)
	}
	return size, skip
}

func (c *call) warn(warning string) { c.exchange.warnings = append(c.exchange.warnings, warning) }

// Commands is how many Exchange commands run at this moment.
func (s *Server) Commands() int { return len(s.exchange) }
