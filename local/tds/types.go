package tds

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/text/encoding/charmap"
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

// How long a value is ([MS-TDS] 2.2.5.2.2, 2.2.5.2.3, 2.2.5.5.2).
var (
	byteLength  = func(b []byte) []byte { return append([]byte{byte(len(b))}, b...) }
	shortLength = func(b []byte) []byte {
		return append(binary.LittleEndian.AppendUint16(nil, uint16(len(b))), b...)
	}
	// chunks is PLP: the whole length, then pieces, then nothing. In pieces of 1000
	// bytes, so that there are several.
	chunks = func(b []byte) []byte {
		out := binary.LittleEndian.AppendUint64(nil, uint64(len(b)))
		for len(b) > 0 {
			n := min(1000, len(b))
			out = append(binary.LittleEndian.AppendUint32(out, uint32(n)), b[:n]...)
			b = b[n:]
		}
		return binary.LittleEndian.AppendUint32(out, 0)
	}
	// pointed is that of text, ntext and image: a pointer and a timestamp first.
	pointed = func(b []byte) []byte {
		out := append([]byte{16}, make([]byte, 16+8)...)
		return append(binary.LittleEndian.AppendUint32(out, uint32(len(b))), b...)
	}
	variantLength = func(b []byte) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
	}
	byteNull  = []byte{0}
	shortNull = []byte{0xFF, 0xFF}
	chunkNull = []byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}
)

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

// Time is time(scale); a value is a time.Time, of which the day and the zone are ignored.
func Time(scale byte) Type { return clockType("time", 0x29, scale, clock) }

// DateTime2 is datetime2(scale); a value is a time.Time, of which the zone is ignored.
func DateTime2(scale byte) Type {
	return clockType("datetime2", 0x2A, scale, func(t Type, v any) ([]byte, error) {
		c, err := clock(t, v)
		if err != nil {
			return nil, err
		}
		return append(c, days(v.(time.Time))...), nil
	})
}

// DateTimeOffset is datetimeoffset(scale); a value is a time.Time.
func DateTimeOffset(scale byte) Type {
	return clockType("datetimeoffset", 0x2B, scale, func(t Type, v any) ([]byte, error) {
		at, ok := v.(time.Time)
		if !ok {
			return nil, errType
		}
		c, err := clock(t, at.UTC())
		if err != nil {
			return nil, err
		}
		_, offset := at.Zone()
		return binary.LittleEndian.AppendUint16(append(c, days(at.UTC())...), uint16(int16(offset/60))), nil
	})
}

func clockType(name string, id, scale byte, value func(Type, any) ([]byte, error)) Type {
	return Type{name: fmt.Sprintf("%s(%d)", name, scale), id: id, scale: scale, value: value, length: byteLength, null: byteNull}
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
			return nil, errors.New("NULL in a column that has none")
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

var errType = errors.New("a value of another Go type than the column's")

func integer(t Type, v any) ([]byte, error) {
	n, ok := v.(int)
	if !ok {
		return nil, errType
	}
	low, high := int64(math.MinInt64)>>(64-8*t.size), int64(math.MaxInt64)>>(64-8*t.size)
	if t.size == 1 {
		low, high = 0, 255
	}
	if int64(n) < low || int64(n) > high {
		return nil, fmt.Errorf("%d is no %s", n, t)
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(n))[:t.size], nil
}

func bit(_ Type, v any) ([]byte, error) {
	b, ok := v.(bool)
	if !ok {
		return nil, errType
	}
	if b {
		return []byte{1}, nil
	}
	return []byte{0}, nil
}

func floating(t Type, v any) ([]byte, error) {
	f, ok := v.(float64)
	switch {
	case !ok:
		return nil, errType
	case t.size == 4:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(f))), nil
	default:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)), nil
	}
}

// scaled is the integer that a string of digits is, with the point moved.
func scaled(v any, scale byte) (*big.Int, error) {
	s, ok := v.(string)
	if !ok {
		return nil, errType
	}
	whole, fraction, _ := strings.Cut(s, ".")
	if len(fraction) > int(scale) {
		return nil, fmt.Errorf("%q has more than %d decimal places", s, scale)
	}
	n, ok := new(big.Int).SetString(whole+fraction+strings.Repeat("0", int(scale)-len(fraction)), 10)
	if !ok {
		return nil, fmt.Errorf("%q is no number", s)
	}
	return n, nil
}

func decimal(t Type, v any) ([]byte, error) {
	n, err := scaled(v, t.scale)
	if err != nil {
		return nil, err
	}
	digits := new(big.Int).Abs(n)
	if len(digits.String()) > int(t.precision) {
		return nil, fmt.Errorf("%v is no %s", v, t)
	}
	b := make([]byte, t.size)
	if n.Sign() >= 0 {
		b[0] = 1
	}
	digits.FillBytes(b[1:])
	for i, j := 1, len(b)-1; i < j; i, j = i+1, j-1 { // little-endian
		b[i], b[j] = b[j], b[i]
	}
	return b, nil
}

// money is ten-thousandths; of its eight bytes the upper half comes first.
func money(t Type, v any) ([]byte, error) {
	n, err := scaled(v, 4)
	if err != nil {
		return nil, err
	}
	limit := int64(math.MaxInt64) >> (64 - 8*t.size)
	if !n.IsInt64() || n.Int64() > limit || n.Int64() < -limit-1 {
		return nil, fmt.Errorf("%v is no %s", v, t)
	}
	if t.size == 4 {
		return binary.LittleEndian.AppendUint32(nil, uint32(n.Int64())), nil
	}
	u := uint64(n.Int64())
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, uint32(u>>32)), uint32(u)), nil
}

// dayNumber is the number of days from the 1st of January of the year 1.
func dayNumber(t time.Time) int64 {
	const to1970 = 719162
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC).Unix()/86400 + to1970
}

func days(t time.Time) []byte {
	return binary.LittleEndian.AppendUint32(nil, uint32(dayNumber(t)))[:3]
}

func date(_ Type, v any) ([]byte, error) {
	t, ok := v.(time.Time)
	if !ok {
		return nil, errType
	}
	return days(t), nil
}

func nanoseconds(t time.Time) int64 {
	return int64(t.Hour())*int64(time.Hour) + int64(t.Minute())*int64(time.Minute) + int64(t.Second())*int64(time.Second) + int64(t.Nanosecond())
}

// clock is the time of day in units of the scale.
func clock(t Type, v any) ([]byte, error) {
	at, ok := v.(time.Time)
	if !ok {
		return nil, errType
	}
	unit := int64(math.Pow10(9 - int(t.scale)))
	n := nanoseconds(at)
	if n%unit != 0 {
		return nil, fmt.Errorf("%v is no %s", at, t)
	}
	size := 5
	switch {
	case t.scale < 3:
		size = 3
	case t.scale < 5:
		size = 4
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(n/unit))[:size], nil
}

const day1900 = 693595

// dateTime is days from 1900 and three-hundredths of a second.
func dateTime(t Type, v any) ([]byte, error) {
	at, ok := v.(time.Time)
	if !ok {
		return nil, errType
	}
	ticks := (nanoseconds(at)*300 + int64(time.Second)/2) / int64(time.Second)
	b := binary.LittleEndian.AppendUint32(nil, uint32(int32(dayNumber(at)-day1900)))
	return binary.LittleEndian.AppendUint32(b, uint32(ticks)), nil
}

// smallDateTime is days from 1900 and minutes.
func smallDateTime(t Type, v any) ([]byte, error) {
	at, ok := v.(time.Time)
	if !ok {
		return nil, errType
	}
	day, n := dayNumber(at)-day1900, nanoseconds(at)
	if day < 0 || day > math.MaxUint16 || n%int64(time.Minute) != 0 {
		return nil, fmt.Errorf("%v is no %s", at, t)
	}
	b := binary.LittleEndian.AppendUint16(nil, uint16(day))
	return binary.LittleEndian.AppendUint16(b, uint16(n/int64(time.Minute))), nil
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
		return nil, fmt.Errorf("%d bytes are no %s", len(b), t)
	}
	if t.id == 0xAD || t.id == 0xAF || t.id == 0xEF {
		b = append([]byte(nil), b...)
		for len(b) < t.size {
			b = append(b, pad...)
		}
	}
	return b, nil
}

// variant is an int within a sql_variant: its base type, no properties, its bytes.
func variant(_ Type, v any) ([]byte, error) {
	b, err := integer(Int, v)
	return append([]byte{0x38, 0}, b...), err
}
