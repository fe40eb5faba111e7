package cosmos

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
)

// A partition key is kept as canonical JSON text, such as ["42"] or [7,"eu"]:
// equal keys have equal text. A component that a document does not have is {}.

// keyOf computes the partition key that a checked document belongs to.
func (c *container) keyOf(doc []byte) (string, error) {
	dst := append(make([]byte, 0, 64), '[')
	for i, path := range c.paths {
		if i > 0 {
			dst = append(dst, ',')
		}
		text, ok := document.Lookup(doc, path)
		if !ok {
			dst = append(dst, '{', '}')
			continue
		}
		var err error
		if dst, err = appendComponent(dst, text); err != nil {
			return "", fmt.Errorf("the partition key at /%s: %w", strings.Join(path, "/"), err)
		}
	}
	return string(append(dst, ']')), nil
}

var errComponent = errors.New("must be a string, a number, a boolean or null")

func appendComponent(dst, text []byte) ([]byte, error) {
	switch text[0] {
	case '{', '[':
		return dst, errComponent
	}
	v, err := document.Parse(text)
	if err != nil {
		return dst, err
	}
	if v.Kind == document.Number {
		return strconv.AppendFloat(dst, v.Num+0, 'g', -1, 64), nil // + 0 makes -0 equal to 0
	}
	if v.Kind == document.String && len(v.Text) > 2048 {
		return dst, errors.New("it is longer than 2048 bytes")
	}
	return v.Append(dst), nil
}

// parseKey reads the partition key header, a JSON array, for a container.
func (c *container) parseKey(header string) (string, error) { return c.readKey(header, false) }

// readKey reads a partition key, or the first components of a hierarchical one as a text
// that ends with a comma: the text with which those partition keys begin.
func (c *container) readKey(header string, allowPrefix bool) (string, error) {
	text := []byte(header)
	if !json.Valid(text) || text[0] != '[' {
		return "", errors.New("the partition key header is not a JSON array")
	}
	key, err := document.Parse(text)
	if err != nil {
		return "", fmt.Errorf("the partition key header: %w", err)
	}
	prefix := len(key.Elements) < len(c.paths) && len(key.Elements) > 0 && allowPrefix
	if len(key.Elements) != len(c.paths) && !prefix {
		return "", fmt.Errorf("the partition key header has %d components and the container's key has %d", len(key.Elements), len(c.paths))
	}
	dst := append(make([]byte, 0, len(header)), '[')
	for i, component := range key.Elements {
		if i > 0 {
			dst = append(dst, ',')
		}
		if component.Kind == document.Object && len(component.Members) == 0 {
			dst = append(dst, '{', '}')
			continue
		}
		if dst, err = appendComponent(dst, component.Append(nil)); err != nil {
			return "", fmt.Errorf("the partition key header: component %d: %w", i, err)
		}
	}
	if prefix {
		return string(append(dst, ',')), nil
	}
	return string(append(dst, ']')), nil
}
