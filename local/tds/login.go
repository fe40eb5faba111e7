package tds

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf16"
)

// The libraries of federated authentication ([MS-TDS] 2.2.6.4).
const (
	// SecurityToken: the client brings its token with LOGIN7.
	SecurityToken = "security token"
	// ActiveDirectory: the client asks where to get a token and for what, and sends it
	// after that.
	ActiveDirectory = "active directory"
)

const (
	version74 = 0x74000004
	version80 = 0x08000000

	featureFedAuth = 0x02
	featureUTF8    = 0x0A
	featureEnd     = 0xFF

	flagReadOnly    = 0x20 // of TypeFlags
	flagIntegrated  = 0x80 // of OptionFlags2
	flagNewPassword = 0x01 // of OptionFlags3
	flagExtension   = 0x10 // of OptionFlags3
)

// Login is a client's sign-in attempt.
type Login struct {
	// Database, Application and Server are as the client wrote them.
	Database, Application, Server string
	// User is set for SQL logins. Their password is checked and not kept.
	User string
	// Library and Token are those of federated authentication.
	Library, Token string
	// ReadOnly: ApplicationIntent=ReadOnly.
	ReadOnly bool
	// Encrypted: over TLS.
	Encrypted bool
}

type login7 struct {
	Login
	version  uint32
	password string
}

// parseLogin reads LOGIN7 ([MS-TDS] 2.2.6.4).
func parseLogin(b []byte) (login7, error) {
	var l login7
	const fixed = 94
	if len(b) < fixed || int(binary.LittleEndian.Uint32(b)) != len(b) {
		return l, errors.New("a LOGIN7 with a wrong length")
	}
	l.version = binary.LittleEndian.Uint32(b[4:])
	options2, typeFlags, options3 := b[25], b[26], b[27]
	if options2&flagIntegrated != 0 {
		return l, errors.New("integrated (SSPI) authentication")
	}
	if options3&flagNewPassword != 0 {
		return l, errors.New("a change of the password")
	}
	l.ReadOnly = typeFlags&flagReadOnly != 0
	var err error
	text := func(at int) string {
		var raw []byte
		if err == nil {
			raw, err = field(b, at, 2)
		}
		return fromUTF16(raw)
	}
	l.User = text(40)
	l.Application, l.Server, l.Database = text(48), text(52), text(68)
	if err != nil {
		return l, err
	}
	password, err := field(b, 44, 2)
	if err != nil {
		return l, err
	}
	plain := make([]byte, len(password))
	for i, c := range password {
		c ^= 0xA5
		plain[i] = c<<4 | c>>4
	}
	l.password = fromUTF16(plain)
	if options3&flagExtension == 0 {
		return l, nil
	}
	pointer, err := field(b, 56, 1)
	if err != nil || len(pointer) != 4 {
		return l, errors.New("a LOGIN7 with a misplaced extension")
	}
	offset := int(binary.LittleEndian.Uint32(pointer))
	if offset < fixed || offset > len(b) {
		return l, errors.New("a LOGIN7 with features outside the message")
	}
	return l, l.features(b[offset:])
}

// field returns the bytes that an offset and a length in LOGIN7 point at.
func field(b []byte, at, width int) ([]byte, error) {
	offset, length := int(binary.LittleEndian.Uint16(b[at:])), int(binary.LittleEndian.Uint16(b[at+2:]))*width
	if length == 0 {
		return nil, nil
	}
	if offset+length > len(b) {
		return nil, fmt.Errorf("a LOGIN7 with a field at %d outside the message", at)
	}
	return b[offset : offset+length], nil
}

func (l *login7) features(b []byte) error {
	for {
		if len(b) == 0 {
			return errors.New("features without their end")
		}
		id := b[0]
		if id == featureEnd {
			if len(b) != 1 {
				return errors.New("bytes after the features")
			}
			return nil
		}
		if len(b) < 5 || int(binary.LittleEndian.Uint32(b[1:])) > len(b)-5 {
			return errors.New("a truncated feature")
		}
		data := b[5 : 5+binary.LittleEndian.Uint32(b[1:])]
		b = b[5+len(data):]
		if id == featureUTF8 && len(data) <= 1 {
			continue // not acknowledged: no column has such a collation
		}
		if id != featureFedAuth || l.Library != "" {
			return fmt.Errorf("the feature %#02x", id)
		}
		if err := l.fedAuth(data); err != nil {
			return err
		}
	}
}

func (l *login7) fedAuth(data []byte) error {
	if len(data) == 0 {
		return errors.New("a FEDAUTH without options")
	}
	if data[0]&1 == 0 {
		return errors.New("a FEDAUTH that does not repeat the server's FEDAUTHREQUIRED")
	}
	switch library := data[0] >> 1; {
	case library == 1 && len(data) >= 5 && int(binary.LittleEndian.Uint32(data[1:])) == len(data)-5:
		l.Library, l.Token = SecurityToken, fromUTF16(data[5:])
	case library == 2 && len(data) == 2:
		l.Library = ActiveDirectory
	default:
		return fmt.Errorf("a FEDAUTH of the library %d in %d bytes", library, len(data))
	}
	return nil
}

// signIn reads the login and answers it. It gives an error when the connection ends
// with it, having told the client why.
func (s *Server) signIn(c *session) error {
	m, err := readMessage(c.conn)
	if err != nil {
		return err
	}
	if m.kind != packetLogin {
		return c.refuse(fmt.Sprintf("a message of the type %#02x where LOGIN7 was expected", m.kind))
	}
	l, err := parseLogin(m.body)
	if err != nil {
		return c.refuse(err.Error())
	}
	l.Encrypted = c.encrypted
	if l.version != version74 && l.version != version80 {
		return c.refuse(fmt.Sprintf("the protocol version %#08x", l.version))
	}
	if l.Library != "" && !c.fedAuth {
		return c.refuse("federated authentication in LOGIN7 that PRELOGIN did not ask for")
	}
	if l.Library == ActiveDirectory {
		if l.Token, err = c.askForToken(s.config.STSURL, s.config.SPN); err != nil {
			return err
		}
	}
	failure, route := s.record(l.Login)
	if failure == nil {
		failure = s.check(l)
	}
	r := newReply(c.conn, packetReply)
	if failure != nil {
		r.add(failure.token())
		r.add(doneToken(doneError, 0, 0))
		if err := r.end(); err != nil {
			return err
		}
		return errors.New("the login was refused")
	}
	r.add(envChange(1, l.Database, "master"))
	r.add(envChange(4, fmt.Sprint(packetSize), fmt.Sprint(packetSize)))
	if route != nil {
		r.add(route.token())
	}
	r.add(loginAck(l.version))
	if l.Library != "" {
		r.add([]byte{tokenFeatureExtAck, featureFedAuth, 0, 0, 0, 0, featureEnd})
	}
	r.add(doneToken(doneFinal, 0, 0))
	return r.end()
}

// check authenticates a client. Every refusal looks alike to the client, as with SQL
// Server.
func (s *Server) check(l login7) *Error {
	refused := &Error{Number: 18456, Class: 14, Message: "Login failed for user '" + l.User + "'."}
	if l.Library != "" {
		if s.config.CheckToken == nil || s.config.CheckToken(l.Token) != nil {
			refused.Message = "Login failed for user '<token-identified principal>'."
			return refused
		}
		return nil
	}
	if password, ok := s.config.Passwords[l.User]; !ok || password != l.password {
		return refused
	}
	return nil
}

// askForToken tells the client where its token is to come from (FEDAUTHINFO, 2.2.7.12)
// and reads the one that it sends (2.2.6.3).
func (c *session) askForToken(sts, spn string) (string, error) {
	r := newReply(c.conn, packetReply)
	r.add(fedAuthInfo(sts, spn))
	if err := r.end(); err != nil {
		return "", err
	}
	m, err := readMessage(c.conn)
	if err != nil {
		return "", err
	}
	b := m.body
	if m.kind != packetFedAuth || len(b) < 8 || int(binary.LittleEndian.Uint32(b)) != len(b)-4 || int(binary.LittleEndian.Uint32(b[4:])) != len(b)-8 {
		return "", c.refuse("a message where a federated authentication token was expected")
	}
	return fromUTF16(b[8:]), nil
}

func fromUTF16(b []byte) string {
	u := make([]uint16, len(b)/2)
	for i := range u {
		u[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(u))
}

func toUTF16(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}
