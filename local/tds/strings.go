package tds

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/text/encoding/charmap"
)

// NVarChar is nvarchar(n); a value is a string.
func NVarChar(n int) Type { return sizedType("nvarchar", 0xE7, n, 2, wide) }

// NChar is nchar(n); a value is a string, which is padded with spaces.
func NChar(n int) Type { return sizedType("nchar", 0xEF, n, 2, wide) }

// VarChar is varchar(n) of the code page 1252; a value is a string.
func VarChar(n int) Type { return sizedType("varchar", 0xA7, n, 1, narrow) }

// Char is char(n) of the code page 1252; a value is a string, which is padded with spaces.
func Char(n int) Type { return sizedType("char", 0xAF, n, 1, narrow) }

// VarBinary is varbinary(n); a value is []byte.
func VarBinary(n int) Type { return sizedType("varbinary", 0xA5, n, 1, binaries) }

// Binary is binary(n); a value is []byte, which is padded with zeros.
func Binary(n int) Type { return sizedType("binary", 0xAD, n, 1, binaries) }

func sizedType(name string, id byte, n, width int, value func(Type, any) ([]byte, error)) Type {
	return Type{name: fmt.Sprintf("%s(%d)", name, n), id: id, size: n * width, value: value, length: shortLength, null: shortNull}
}

// guid is a uniqueidentifier: its first three groups are little-endian.
func guid(_ Type, v any) ([]byte, error) {
	s, ok := v.(string)
	if !ok {
		return nil, errType
	}
	u, err := uuid.Parse(s)
	if err != nil {
		return nil, err
	}
	b := u[:]
	return append([]byte{b[3], b[2], b[1], b[0], b[5], b[4], b[7], b[6]}, b[8:]...), nil
}

func wide(t Type, v any) ([]byte, error) {
	s, ok := v.(string)
	if !ok || !utf8.ValidString(s) {
		return nil, errType
	}
	return t.fit(toUTF16(s), []byte{' ', 0})
}

func narrow(t Type, v any) ([]byte, error) {
	s, ok := v.(string)
	if !ok {
		return nil, errType
	}
	b, err := charmap.Windows1252.NewEncoder().Bytes([]byte(s))
	if err != nil {
		return nil, fmt.Errorf("%s is not in the code page 1252: %w", strconv.Quote(s), err)
	}
	return t.fit(b, []byte{' '})
}

func binaries(t Type, v any) ([]byte, error) {
	b, ok := v.([]byte)
	if !ok {
		return nil, errType
	}
	return t.fit(b, []byte{0})
}

// fit checks the length, and pads what has a fixed one.
func (t Type) fit(b, pad []byte) ([]byte, error) {
	if t.size > 0 && t.size < 0xFFFF && len(b) > t.size {
		return nil, fmt.Errorf("%d bytes are not a %s", len(b), t)
	}
	if t.id == 0xAD || t.id == 0xAF || t.id == 0xEF {
		b = append([]byte(nil), b...)
		for len(b) < t.size {
			b = append(b, pad...)
		}
	}
	return b, nil
}
