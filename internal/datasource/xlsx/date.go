package xlsx

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/datasource"
)

// dateFormat says whether a number format shows a date, a time or both.
type dateFormat int

const (
	noDate      dateFormat = 0
	dateOnly    dateFormat = 1
	timeOnly    dateFormat = 2
	dateAndTime            = dateOnly | timeOnly
)

// builtIn are the formats of dates and times that every file has. 46 is a duration, which is a number.
var builtIn = map[int]dateFormat{
	14: dateOnly, 15: dateOnly, 16: dateOnly, 17: dateOnly, 18: timeOnly, 19: timeOnly, 20: timeOnly, 21: timeOnly, 22: dateAndTime,
	27: dateOnly, 28: dateOnly, 29: dateOnly, 30: dateOnly, 31: dateOnly, 32: timeOnly, 33: timeOnly, 34: timeOnly, 35: timeOnly, 36: dateOnly,
	45: timeOnly, 47: timeOnly,
	50: dateOnly, 51: dateOnly, 52: dateOnly, 53: dateOnly, 54: dateOnly, 55: timeOnly, 56: timeOnly, 57: dateOnly, 58: dateOnly,
}

// readFormats reads what the styles of cells show.
func (b *book) readFormats(part string) error {
	var styles struct {
		Formats []struct {
			ID   int    `xml:"numFmtId,attr"`
			Code string `xml:"formatCode,attr"`
		} `xml:"numFmts>numFmt"`
		Cells []struct {
			ID int `xml:"numFmtId,attr"`
		} `xml:"cellXfs>xf"`
	}
	if err := b.decode(part, &styles); err != nil {
		return err
	}
	own := map[int]dateFormat{}
	for _, f := range styles.Formats {
		own[f.ID] = parseFormat(f.Code)
	}
	for _, c := range styles.Cells {
		format, ok := own[c.ID]
		if !ok {
			format = builtIn[c.ID]
		}
		b.formats = append(b.formats, format)
	}
	return nil
}

// parseFormat tells what a format code shows. Its letters count outside of text in quotes, of escaped characters, and of
// colours, conditions and languages in brackets. m is a month without h or s, and else minutes.
func parseFormat(code string) dateFormat {
	code, _, _ = strings.Cut(code, ";") // of positive numbers
	var format dateFormat
	month := false
	for i := 0; i < len(code); i++ {
		switch c := code[i]; c {
		case '"':
			end := strings.IndexByte(code[i+1:], '"')
			if end < 0 {
				return format
			}
			i += end + 1
		case '\\', '_', '*':
			i++
		case '[':
			end := strings.IndexByte(code[i:], ']')
			if end < 0 {
				return format
			}
			if inner := strings.ToLower(code[i+1 : i+end]); inner != "" && strings.Trim(inner, "hms") == "" {
				return noDate // elapsed time
			}
			i += end
		case 'y', 'Y', 'd', 'D':
			format |= dateOnly
		case 'h', 'H', 's', 'S':
			format |= timeOnly
		case 'm', 'M':
			month = true
		case 'G', 'g': // General, or an era
			if strings.HasPrefix(strings.ToLower(code[i:]), "general") {
				return noDate
			}
		}
	}
	if month && format == noDate {
		return dateOnly
	}
	return format
}

// lastSerial is the number of 9999-12-31.
const lastSerial = 2_958_465

// json is the date or time that a number stands for: the days since the beginning of 1900 or 1904.
func (f dateFormat) json(raw string, date1904 bool) (json.RawMessage, error) {
	serial, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		return nil, errors.New("it is not a number")
	}
	if !(serial >= 0 && serial < lastSerial+1) {
		return nil, errors.New("the date is outside of the years 1900 to 9999")
	}
	epoch := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case date1904:
		epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case serial < 60: // Excel has a 29 February 1900
		epoch = epoch.AddDate(0, 0, 1)
	}
	days := math.Floor(serial)
	// A number has some 15 digits: of a time of day, the milliseconds are exact.
	at := epoch.AddDate(0, 0, int(days)).Add(time.Duration(math.Round((serial-days)*86_400_000)) * time.Millisecond)
	midnight := at.Equal(at.Truncate(24 * time.Hour))
	switch {
	case f == timeOnly && serial < 1:
		return datasource.Clock(at)
	case f == dateOnly && midnight:
		return datasource.Date(at)
	}
	return datasource.LocalTime(at)
}
