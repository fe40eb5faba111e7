package cosmos

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
)

// maxItem is the largest item and the largest batch the service takes.
const maxItem = 2 << 20

// item is a stored document with the columns its system properties come from.
type item struct {
	container *container
	seq       int64 // number of the create that made it
	version   int64 // number of the write that made this content; the ETag
	ts        int64 // Unix seconds of that write
	body      []byte

	places []*entry // in these lookups, nil where it is in none of them
	of     *lookups // nil: its places are not known
}

// appendETag appends a version in the shape of the service's ETags; quote is
// a double quote, or an escaped one inside JSON.
func appendETag(dst []byte, quote string, version int64) []byte {
	dst = append(dst, quote...)
	dst = appendHex(dst, uint64(version>>40), 8)
	dst = append(dst, '-')
	dst = appendHex(dst, uint64(version>>24), 4)
	dst = append(dst, '-')
	dst = appendHex(dst, uint64(version>>8), 4)
	dst = append(dst, "-0000-"...)
	dst = appendHex(dst, uint64(version&0xff), 12)
	return append(dst, quote...)
}

func appendHex(dst []byte, n uint64, digits int) []byte {
	for shift := (digits - 1) * 4; shift >= 0; shift -= 4 {
		dst = append(dst, "0123456789abcdef"[n>>shift&15])
	}
	return dst
}

func etagOf(version int64) string { return string(appendETag(make([]byte, 0, 40), `"`, version)) }

func (it item) etag() string { return etagOf(it.version) }

// matches says whether an If-Match header allows a write on this item.
func (it item) matches(ifMatch string) bool {
	return ifMatch == "" || ifMatch == "*" || ifMatch == it.etag()
}

func (it item) rid() string {
	var raw [16]byte
	copy(raw[:8], it.container.ridBytes())
	binary.LittleEndian.PutUint64(raw[8:], uint64(it.seq))
	return encodeRID(raw[:])
}

// append appends the document as the service returns it: the caller's
// members, then the system properties.
func (it item) append(dst []byte) []byte {
	// Bodies are stored trimmed and have at least an id, so the text before
	// the closing brace can be continued.
	dst = append(dst, it.body[:len(it.body)-1]...)
	rid := it.rid()
	dst = append(dst, `,"_rid":"`...)
	dst = append(dst, rid...)
	dst = append(dst, `","_self":"`...)
	dst = append(dst, it.container.self...)
	dst = append(dst, `docs/`...)
	dst = append(dst, rid...)
	dst = append(dst, `/","_etag":"`...)
	dst = appendETag(dst, `\"`, it.version)
	dst = append(dst, `","_attachments":"attachments/","_ts":`...)
	dst = strconv.AppendInt(dst, it.ts, 10)
	return append(dst, '}')
}

func systemProperty(name string) bool {
	switch name {
	case "_rid", "_self", "_etag", "_attachments", "_ts":
		return true
	}
	return false
}

// incoming is a document on its way in: the id, the partition key it names,
// and its content without the system properties.
type incoming struct {
	id   string
	pk   string
	body []byte
}

// readDocument takes a checked document apart for a container. Errors are the caller's mistakes.
func readDocument(c *container, doc []byte) (incoming, error) {
	var in incoming
	var ids int
	var idValue []byte
	var cuts [][2]int
	document.EachMember(doc, func(m document.Member) bool {
		switch {
		case m.Name == "id":
			ids++
			idValue = m.Value
		case systemProperty(m.Name):
			cuts = append(cuts, [2]int{m.Start, m.End})
		}
		return true
	})
	switch {
	case ids == 0:
		return in, errors.New("the document has no id")
	case ids > 1:
		return in, errors.New("the document has more than one id")
	case idValue[0] != '"':
		return in, errors.New("the document's id is not a string")
	}
	id, err := document.Parse(idValue)
	if err != nil {
		return in, err
	}
	in.id = id.Text
	if err := checkID(in.id); err != nil {
		return in, err
	}
	if in.pk, err = c.keyOf(doc); err != nil {
		return in, err
	}
	in.body = document.Doubles(without(doc, cuts))
	return in, nil
}

// without returns a document trimmed and without the given members.
func without(doc []byte, cuts [][2]int) []byte {
	if len(cuts) == 0 {
		return bytes.TrimSpace(doc)
	}
	out := make([]byte, 0, len(doc))
	out = append(out, '{')
	document.EachMember(doc, func(m document.Member) bool {
		for _, cut := range cuts {
			if cut[0] == m.Start {
				return true
			}
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, doc[m.Start:m.End]...)
		return true
	})
	return append(out, '}')
}

// checkID refuses what the service refuses in an id.
func checkID(id string) error {
	switch {
	case id == "":
		return errors.New("the id is empty")
	case len(id) > 1023:
		return errors.New("the id is longer than 1023 bytes")
	}
	if at := strings.IndexAny(id, `/\?#`); at >= 0 {
		return fmt.Errorf("the id contains the character %q, which is not allowed", id[at])
	}
	if strings.HasSuffix(id, " ") {
		return errors.New("the id ends with a space")
	}
	return nil
}
