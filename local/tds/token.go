package tds

import "encoding/binary"

// The tokens of an answer ([MS-TDS] 2.2.7).
const (
	tokenColMetadata   = 0x81
	tokenError         = 0xAA
	tokenLoginAck      = 0xAD
	tokenFeatureExtAck = 0xAE
	tokenRow           = 0xD1
	tokenNBCRow        = 0xD2
	tokenEnvChange     = 0xE3
	tokenFedAuthInfo   = 0xEE
	tokenDone          = 0xFD
)

// The status of DONE (2.2.7.6).
const (
	doneFinal     = 0x00
	doneMore      = 0x01
	doneError     = 0x02
	doneInXact    = 0x04
	doneCount     = 0x10
	doneAttention = 0x20

	commandSelect = 0xC1
)

// Error is an error of the server.
type Error struct {
	// Number is that of SQL Server: 208 for an object that does not exist, 229 for a
	// permission that is missing, 18456 for a login that failed.
	Number int32
	// State and Class as SQL Server has them; Class 0 means 16.
	State, Class byte
	Message      string
}

func (e *Error) token() []byte {
	class := e.Class
	if class == 0 {
		class = 16
	}
	b := binary.LittleEndian.AppendUint32(nil, uint32(e.Number))
	b = append(b, e.State, class)
	b = append(b, usVarChar(e.Message)...)
	b = append(b, bVarChar("local")...)
	b = append(b, bVarChar("")...)
	b = binary.LittleEndian.AppendUint32(b, 1) // line
	return sized(tokenError, b)
}

func doneToken(status uint16, command uint16, rows int) []byte {
	b := []byte{tokenDone}
	b = binary.LittleEndian.AppendUint16(b, status)
	b = binary.LittleEndian.AppendUint16(b, command)
	return binary.LittleEndian.AppendUint64(b, uint64(rows))
}

// envChange is one whose values are text: 1 is the database, 4 the size of packets.
func envChange(kind byte, now, before string) []byte {
	return sized(tokenEnvChange, append(append([]byte{kind}, bVarChar(now)...), bVarChar(before)...))
}

// transactionChange tells of a transaction: 8 began, 9 was committed, 10 rolled back.
func transactionChange(kind byte, transaction uint64) []byte {
	id := binary.LittleEndian.AppendUint64([]byte{8}, transaction)
	if kind == 8 {
		return sized(tokenEnvChange, append(append([]byte{kind}, id...), 0))
	}
	return sized(tokenEnvChange, append([]byte{kind, 0}, id...))
}

// route sends a client elsewhere, as a gateway does.
type route struct {
	host string
	port uint16
}

func (r *route) token() []byte {
	value := binary.LittleEndian.AppendUint16([]byte{0}, r.port) // over TCP
	value = append(value, usVarChar(r.host)...)
	b := binary.LittleEndian.AppendUint16([]byte{20}, uint16(len(value)))
	return sized(tokenEnvChange, append(append(b, value...), 0, 0))
}

func loginAck(version uint32) []byte {
	b := binary.BigEndian.AppendUint32([]byte{1}, version)
	b = append(b, bVarChar("local/tds")...)
	return sized(tokenLoginAck, append(b, 16, 0, 0x10, 0))
}

func fedAuthInfo(sts, spn string) []byte {
	const head = 4 + 2*9
	s, p := toUTF16(sts), toUTF16(spn)
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, o := range []struct {
		id             byte
		length, offset int
	}{{1, len(s), head}, {2, len(p), head + len(s)}} {
		b = append(b, o.id)
		b = binary.LittleEndian.AppendUint32(b, uint32(o.length))
		b = binary.LittleEndian.AppendUint32(b, uint32(o.offset))
	}
	b = append(append(b, s...), p...)
	return append(binary.LittleEndian.AppendUint32([]byte{tokenFedAuthInfo}, uint32(len(b))), b...)
}

func sized(token byte, b []byte) []byte {
	return append(binary.LittleEndian.AppendUint16([]byte{token}, uint16(len(b))), b...)
}

func bVarChar(s string) []byte {
	b := toUTF16(s)
	return append([]byte{byte(len(b) / 2)}, b...)
}

func usVarChar(s string) []byte {
	b := toUTF16(s)
	return append(binary.LittleEndian.AppendUint16(nil, uint16(len(b)/2)), b...)
}
