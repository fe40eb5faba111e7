package tds

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Type is a data type of SQL Server.
type Type struct {
	name string
	// fixed is the type of a column that is never NULL, where there is one for it
	// (2.2.5.4.1); id the one of a column that can be.
	fixed, id        byte
	size             int // bytes, as TYPE_INFO has it
	precision, scale byte
	// value makes the bytes of a value, without their length.
	value func(t Type, v any) ([]byte, error)
	// length is how a value's length is written.
	length func([]byte) []byte
	// null is how NULL is written in a row that is not compressed.
	null []byte
}

// String is the type as SQL writes it.
func (t Type) String() string { return t.name }

func byteSized(name string, fixed, id byte, size int, value func(Type, any) ([]byte, error)) Type {
	return Type{name: name, fixed: fixed, id: id, size: size, value: value, length: byteLength, null: byteNull}
}

// The types without parameters. Their values are, in Go: an int for the integers, bool
// for bit, a float64 for real and float, a string of digits for money, a time.Time of
// which the zone is ignored for datetime, smalldatetime and date, a string for xml, text,
// ntext and uniqueidentifier, []byte for image, and an int for sql_variant.
var (
	TinyInt          = byteSized("tinyint", 0x30, 0x26, 1, integer)
	SmallInt         = byteSized("smallint", 0x34, 0x26, 2, integer)
	Int              = byteSized("int", 0x38, 0x26, 4, integer)
	BigInt           = byteSized("bigint", 0x7F, 0x26, 8, integer)
	Bit              = byteSized("bit", 0x32, 0x68, 1, bit)
	Real             = byteSized("real", 0x3B, 0x6D, 4, floating)
	Float            = byteSized("float", 0x3E, 0x6D, 8, floating)
	SmallMoney       = byteSized("smallmoney", 0x7A, 0x6E, 4, money)
	Money            = byteSized("money", 0x3C, 0x6E, 8, money)
	SmallDateTime    = byteSized("smalldatetime", 0x3A, 0x6F, 4, smallDateTime)
	DateTime         = byteSized("datetime", 0x3D, 0x6F, 8, dateTime)
	Date             = byteSized("date", 0, 0x28, 3, date)
	UniqueIdentifier = byteSized("uniqueidentifier", 0, 0x24, 16, guid)
	XML              = Type{name: "xml", id: 0xF1, value: wide, length: chunks, null: chunkNull}
	Text             = Type{name: "text", id: 0x23, size: math.MaxInt32, value: narrow, length: pointed, null: byteNull}
	NText            = Type{name: "ntext", id: 0x63, size: math.MaxInt32 - 1, value: wide, length: pointed, null: byteNull}
	Image            = Type{name: "image", id: 0x22, size: math.MaxInt32, value: binaries, length: pointed, null: byteNull}
	Variant          = Type{name: "sql_variant", id: 0x62, size: 8009, value: variant, length: variantLength, null: []byte{0, 0, 0, 0}}

	NVarCharMax  = Type{name: "nvarchar(max)", id: 0xE7, size: 0xFFFF, value: wide, length: chunks, null: chunkNull}
	VarCharMax   = Type{name: "varchar(max)", id: 0xA7, size: 0xFFFF, value: narrow, length: chunks, null: chunkNull}
	VarBinaryMax = Type{name: "varbinary(max)", id: 0xA5, size: 0xFFFF, value: binaries, length: chunks, null: chunkNull}
)

// Decimal is decimal(precision, scale); a value is a string of digits.
func Decimal(precision, scale byte) Type { return exact("decimal", 0x6A, precision, scale) }

// Numeric is numeric(precision, scale); a value is a string of digits.
func Numeric(precision, scale byte) Type { return exact("numeric", 0x6C, precision, scale) }

func exact(name string, id, precision, scale byte) Type {
	size := 17
	switch {
	case precision < 10:
		size = 5
	case precision < 20:
		size = 9
	case precision < 29:
		size = 13
	}
	return Type{
		name: fmt.Sprintf("%s(%d,%d)", name, precision, scale), id: id, size: size, precision: precision, scale: scale,
		value: decimal, length: byteLength, null: byteNull,
	}
}

// info is TYPE_INFO ([MS-TDS] 2.2.5.6).
func (t Type) info(nullable bool) []byte {
	if !nullable && t.fixed != 0 {
		return []byte{t.fixed}
	}
	// Latin1_General, as SQL_Latin1_General_CP1_CI_AS has it: the code page 1252.
	collation := []byte{0x09, 0x04, 0xD0, 0x00, 0x34}
	switch t.id {
	case 0x28: // date
		return []byte{t.id}
	case 0x29, 0x2A, 0x2B: // time, datetime2, datetimeoffset
		return []byte{t.id, t.scale}
	case 0x6A, 0x6C: // decimal, numeric
		return []byte{t.id, byte(t.size), t.precision, t.scale}
	case 0xF1: // xml: without a schema
		return []byte{t.id, 0}
	case 0xA7, 0xAF, 0xE7, 0xEF: // characters
		return append(binary.LittleEndian.AppendUint16([]byte{t.id}, uint16(t.size)), collation...)
	case 0xA5, 0xAD: // binaries
		return binary.LittleEndian.AppendUint16([]byte{t.id}, uint16(t.size))
	case 0x23, 0x63: // text, ntext: from a table of one part
		b := append(binary.LittleEndian.AppendUint32([]byte{t.id}, uint32(t.size)), collation...)
		return append(append(b, 1), usVarChar("t")...)
	case 0x22: // image
		return append(append(binary.LittleEndian.AppendUint32([]byte{t.id}, uint32(t.size)), 1), usVarChar("t")...)
	case 0x62:
		return binary.LittleEndian.AppendUint32([]byte{t.id}, uint32(t.size))
	default:
		return []byte{t.id, byte(t.size)}
	}
}

// cell is a value in a row, with its length where it has one.
func (t Type) cell(v any, nullable bool) ([]byte, error) {
	if v == nil {
		if !nullable {
			return nil, errors.New("NULL in a column that is not nullable")
		}
		return t.null, nil
	}
	b, err := t.value(t, v)
	if err != nil {
		return nil, err
	}
	if !nullable && t.fixed != 0 {
		return b, nil
	}
	return t.length(b), nil
}

var errType = errors.New("the value's Go type does not match the column")
