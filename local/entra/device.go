package entra

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	deviceCodeLifetime = 15 * time.Minute
	pollInterval       = 5 * time.Second
	// userCodeAlphabet has no letters that are taken for digits.
	userCodeAlphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
	userCodeLength   = 9
)

type codeState int

const (
	codePending codeState = iota
	codeApproved
	codeDeclined
	codeRedeemed
)

// deviceCode is one sign-in under way on a device without a browser.
type deviceCode struct {
	device, user string // the two codes
	tenantID     string
	clientID     string
	scope        string
	expires      time.Time
	lastPoll     time.Time
	state        codeState
	approvedAs   string // user principal name
}

// deviceCodes are the sign-ins under way. Safe for concurrent use.
type deviceCodes struct {
	now func() time.Time

	mu    sync.Mutex
	codes []*deviceCode
}

func newDeviceCodes(now func() time.Time) *deviceCodes { return &deviceCodes{now: now} }

// begin registers a sign-in and gives it its codes.
func (d *deviceCodes) begin(code deviceCode) deviceCode {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	code.device = base64.RawURLEncoding.EncodeToString(secret)
	letters := make([]byte, userCodeLength)
	_, _ = rand.Read(letters)
	for i := range letters {
		letters[i] = userCodeAlphabet[int(letters[i])%len(userCodeAlphabet)]
	}
	code.user = string(letters)

	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	code.expires = now.Add(deviceCodeLifetime)
	// An expired code is kept for as long again, to say that it expired.
	d.codes = slices.DeleteFunc(d.codes, func(known *deviceCode) bool { return !now.Before(known.expires.Add(deviceCodeLifetime)) })
	d.codes = append(d.codes, &code)
	return code
}

// errUnknownCode answers the person who types a code.
var errUnknownCode = errors.New("the code is unknown, expired or already used")

// pending finds a code that can still be approved or declined.
func (d *deviceCodes) pending(userCode string) (deviceCode, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	code, err := d.find(userCode)
	if err != nil {
		return deviceCode{}, err
	}
	return *code, nil
}

func (d *deviceCodes) find(userCode string) (*deviceCode, error) {
	userCode = strings.ToUpper(strings.TrimSpace(userCode))
	for _, code := range d.codes {
		if code.user == userCode && code.state == codePending && d.now().Before(code.expires) {
			return code, nil
		}
	}
	return nil, errUnknownCode
}

func (d *deviceCodes) decide(userCode string, state codeState, upn string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	code, err := d.find(userCode)
	if err != nil {
		return err
	}
	code.state, code.approvedAs = state, upn
	return nil
}

// poll answers a device that asks whether its code was approved. An approved
// code is good for one answer. A device that polls too often gets slow_down
// while its code is pending, as RFC 8628 says.
func (d *deviceCodes) poll(device, tenantID, clientID string) (deviceCode, *refusal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	for _, code := range d.codes {
		if code.device != device || code.tenantID != tenantID || code.clientID != clientID {
			continue
		}
		tooSoon := !code.lastPoll.IsZero() && now.Sub(code.lastPoll) < pollInterval
		code.lastPoll = now
		switch {
		case code.state == codeRedeemed:
			return *code, badRequest("invalid_grant", 54005, "The device code was already redeemed.")
		case code.state == codeDeclined:
			return *code, badRequest("authorization_declined", 65004, "User declined to sign in to the app.")
		case !now.Before(code.expires):
			return *code, badRequest("expired_token", 70020, "The provided value for the input parameter 'device_code' is not valid. This device code has expired.")
		case code.state == codePending && tooSoon:
			return *code, badRequest("slow_down", 70016, "Authorization is pending. Wait %d seconds between requests.", int(pollInterval.Seconds()))
		case code.state == codePending:
			return *code, badRequest("authorization_pending", 70016, "Authorization is pending. Continue polling.")
		}
		code.state = codeRedeemed
		return *code, nil
	}
	return deviceCode{}, badRequest("bad_verification_code", 70018, "The device code was not issued to this client in this tenant.")
}

// deviceCode is the endpoint that starts the flow.
func (s *Server) deviceCode(w http.ResponseWriter, r *http.Request, t Tenant) {
	code, refusal := s.beginDeviceCode(r, t)
	if refusal != nil {
		s.writeRefusal(w, r, refusal)
		return
	}
	page := s.url + "/devicelogin"
	writeJSON(w, http.StatusOK, map[string]any{
		"user_code":        code.user,
		"device_code":      code.device,
		"verification_uri": page,
		"expires_in":       int(deviceCodeLifetime.Seconds()),
		"interval":         int(pollInterval.Seconds()),
		"message":          fmt.Sprintf("To sign in, use a web browser to open the page %s and enter the code %s to authenticate.", page, code.user),
	})
}

// beginDeviceCode refuses at once what could not end in a token.
func (s *Server) beginDeviceCode(r *http.Request, t Tenant) (deviceCode, *refusal) {
	if refusal := parseForm(r); refusal != nil {
		return deviceCode{}, refusal
	}
	id := r.PostForm.Get("client_id")
	if id == "" {
		return deviceCode{}, missingParameter("client_id")
	}
	client, ok := t.application(id)
	if !ok {
		return deviceCode{}, badRequest("unauthorized_client", 700016, "Application with identifier '%s' was not found in the directory '%s'.", id, t.ID)
	}
	scope := r.PostForm.Get("scope")
	request, refusal := t.parseScope(scope)
	if refusal != nil {
		return deviceCode{}, refusal
	}
	if _, refusal := request.delegated(); refusal != nil {
		return deviceCode{}, refusal
	}
	code := s.devices.begin(deviceCode{tenantID: t.ID, clientID: client.ClientID, scope: scope})
	if s.config.AutoApprove != "" {
		if err := s.ApproveDeviceCode(code.user, s.config.AutoApprove); err != nil {
			return deviceCode{}, badRequest("invalid_request", 50034, "The device code cannot be approved by itself: %v.", err)
		}
	}
	return code, nil
}

func (s *Server) grantByDeviceCode(g grant, device string) (grant, *refusal) {
	if device == "" {
		return g, missingParameter("device_code")
	}
	code, refusal := s.devices.poll(device, g.tenant.ID, g.client.ClientID)
	if refusal != nil {
		return g, refusal
	}
	return s.grantToUser(g, code.approvedAs, code.scope)
}

// ApproveDeviceCode signs the device with this user code in as upn, which must
// be a user of the tenant that the device signs in to.
func (s *Server) ApproveDeviceCode(userCode, upn string) error {
	code, err := s.devices.pending(userCode)
	if err != nil {
		return err
	}
	tenant, ok := s.config.tenant(code.tenantID)
	if !ok {
		return fmt.Errorf("no tenant %q", code.tenantID)
	}
	if _, ok := tenant.user(upn); !ok {
		return fmt.Errorf("tenant %s has no user %q", tenant.ID, upn)
	}
	return s.devices.decide(userCode, codeApproved, upn)
}

// DeclineDeviceCode refuses the sign-in with this user code.
func (s *Server) DeclineDeviceCode(userCode string) error {
	return s.devices.decide(userCode, codeDeclined, "")
}
