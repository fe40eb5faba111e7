package tds

import (
	"encoding/binary"
)

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
