package invocation

import (
	"errors"
	"io"
)

// shortener keeps a JSON document with each of its strings cut at maxString.
type shortener struct {
	kept    []byte
	longest int // characters of the longest string

	inside bool // of a string
	escape int  // bytes of an escape that are still to come
	begins bool // the next byte is the one after a backslash
	length int  // characters of the string so far
}

// readFrom reads a document to its end.
func (s *shortener) readFrom(r io.Reader) error {
	buffer := make([]byte, 32<<10)
	for {
		n, err := r.Read(buffer)
		for _, c := range buffer[:n] {
			s.take(c)
		}
		if len(s.kept) > maxShortened {
			return errors.New("the envelope is too large without its long strings")
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// take reads the next byte.
func (s *shortener) take(c byte) {
	switch {
	case !s.inside:
		s.inside, s.length = c == '"', 0
		s.kept = append(s.kept, c)
		return
	case s.escape > 0:
		if s.escape--; s.escape == 0 && c == 'u' && s.begins {
			s.escape = 4
		}
		s.begins = false
	case c == '\\':
		s.escape, s.begins = 1, true
		s.length++
	case c == '"':
		s.inside, s.longest = false, max(s.longest, s.length)
		s.kept = append(s.kept, c)
		return
	default:
		s.length++
	}
	if s.length <= maxString {
		s.kept = append(s.kept, c)
	}
}
