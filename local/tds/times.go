package tds

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

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
		return nil, fmt.Errorf("%v is not a %s", at, t)
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
		return nil, fmt.Errorf("%v is not a %s", at, t)
	}
	b := binary.LittleEndian.AppendUint16(nil, uint16(day))
	return binary.LittleEndian.AppendUint16(b, uint16(n/int64(time.Minute))), nil
}
