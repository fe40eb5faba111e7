package cosmos

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"net/http"
	"strings"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
)

// epkRange is a range of effective partition keys, the hashes by which the service
// distributes documents, and a prefix of the text of their partition keys. The upper end is
// exclusive. A zero value is the whole container.
type epkRange struct{ start, end, prefix string }

// lastEPK is greater than every effective partition key.
const lastEPK = "FF"

// readEPKRange reads the range that a request limits itself to. Clients send it for a feed
// range and for a prefix of a hierarchical partition key.
func readEPKRange(r *http.Request, c *container) (epkRange, error) {
	start, end := strings.ToUpper(r.Header.Get("X-Ms-Start-Epk")), strings.ToUpper(r.Header.Get("X-Ms-End-Epk"))
	if end == "" {
		end = lastEPK
	}
	if start == "" && end == lastEPK {
		return epkRange{}, nil
	}
	for _, key := range []string{start, end} {
		if _, err := hex.DecodeString(key); err != nil {
			return epkRange{}, errors.New("x-ms-start-epk and x-ms-end-epk must be hexadecimal")
		}
	}
	if start >= end {
		return epkRange{}, errors.New("x-ms-start-epk must be less than x-ms-end-epk")
	}
	if !c.hashesV2() {
		return epkRange{}, errors.New("x-ms-start-epk and x-ms-end-epk are not supported for a partition key of version 1")
	}
	return epkRange{start: start, end: end}, nil
}

// contains reports whether the documents of a partition are in the range.
func (e epkRange) contains(c *container, pk string) bool {
	if !strings.HasPrefix(pk, e.prefix) {
		return false
	}
	if e.end == "" {
		return true
	}
	key, err := c.effectiveKey(pk)
	return err == nil && e.start <= key && key < e.end
}

// hashesV2 reports whether the partition key is hashed by version 2.
func (c *container) hashesV2() bool {
	return len(c.paths) > 1 || c.keyKind == "MultiHash" || c.keyVersion == 2
}

// effectiveKey computes the effective partition key of canonical partition key text.
func (c *container) effectiveKey(pk string) (string, error) {
	key, err := document.Parse([]byte(pk))
	if err != nil {
		return "", fmt.Errorf("partition key %s: %w", pk, err)
	}
	var out []byte
	for _, component := range key.Elements {
		out = append(out, hashV2(component)...)
	}
	return strings.ToUpper(hex.EncodeToString(out)), nil
}

// hashV2 hashes one component: 128 bits, of which the first two are zero.
func hashV2(component document.Value) []byte {
	var text []byte
	switch component.Kind {
	case document.Null:
		text = []byte{1}
	case document.Boolean:
		text = []byte{2}
		if component.Bool {
			text[0] = 3
		}
	case document.Number:
		text = binary.LittleEndian.AppendUint64([]byte{5}, math.Float64bits(component.Num))
	case document.String:
		text = append([]byte{8}, component.Text...)
		text = append(text, 0xff)
	default: // missing
		text = []byte{0}
	}
	low, high := murmur128(text)
	out := binary.BigEndian.AppendUint64(nil, high)
	out = binary.BigEndian.AppendUint64(out, low)
	out[0] &= 0x3f
	return out
}

// murmur128 is MurmurHash3 x64 128 with seed 0.
func murmur128(text []byte) (h1, h2 uint64) {
	const c1, c2 = 0x87c37b91114253d5, 0x4cf5ad432745937f
	length := uint64(len(text))
	for ; len(text) >= 16; text = text[16:] {
		k1, k2 := binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[8:])
		h1 ^= bits.RotateLeft64(k1*c1, 31) * c2
		h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
		h2 ^= bits.RotateLeft64(k2*c2, 33) * c1
		h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	}
	var tail [16]byte
	copy(tail[:], text)
	h1 ^= bits.RotateLeft64(binary.LittleEndian.Uint64(tail[:])*c1, 31) * c2
	h2 ^= bits.RotateLeft64(binary.LittleEndian.Uint64(tail[8:])*c2, 33) * c1
	h1, h2 = h1^length, h2^length
	h1 += h2
	h2 += h1
	h1, h2 = mix(h1), mix(h2)
	h1 += h2
	h2 += h1
	return h1, h2
}

func mix(k uint64) uint64 {
	k = (k ^ k>>33) * 0xff51afd7ed558ccd
	k = (k ^ k>>33) * 0xc4ceb9fe1a85ec53
	return k ^ k>>33
}
