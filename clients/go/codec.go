package zkleader

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// MessagePack, as much of it as the sidecar's protocol has. It is written here and not taken from
// elsewhere, as the libraries that there are choose types by reflection, allocate by lengths that
// are only claimed, and are many times the size of what is needed.

const (
	depthMax = 16 // levels of arrays and maps, as the sidecar's own
	frameMax = 64 << 20
	pieceMax = 64 << 10 // allocated at a time for what a length claims
)

var errMalformed = errors.New("malformed")

func malformed(why string) error {
	return fmt.Errorf("%w: %s", errMalformed, why)
}

// appendLength appends a head for n things: fix with n in it below fixed, or one of three (head8 may
// be 0: there is none) with n behind it.
func appendLength(b []byte, n, fixed int, fix, head8, head16, head32 byte) []byte {
	switch {
	case n < fixed:
		return append(b, fix|byte(n))
	case head8 != 0 && n < 1<<8:
		return append(b, head8, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, head16), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(b, head32), uint32(n))
	}
}

// appendValue appends the bytes of a value: nil, bool, string, []byte, integers, []any and
// map[string]any.
func appendValue(b []byte, value any) ([]byte, error) {
	var err error
	switch v := value.(type) {
	case nil:
		b = append(b, 0xc0)
	case bool:
		if v {
			return append(b, 0xc3), nil
		}
		b = append(b, 0xc2)
	case string:
		b = append(appendLength(b, len(v), 32, 0xa0, 0xd9, 0xda, 0xdb), v...)
	case []byte:
		b = append(appendLength(b, len(v), 0, 0, 0xc4, 0xc5, 0xc6), v...)
	case int:
		return appendValue(b, int64(v))
	case int64:
		if v >= 0 {
			return appendValue(b, uint64(v))
		}
		b = binary.BigEndian.AppendUint64(append(b, 0xd3), uint64(v))
	case uint64:
		if v > math.MaxUint32 {
			return binary.BigEndian.AppendUint64(append(b, 0xcf), v), nil
		}
		b = appendLength(b, int(v), 0x80, 0, 0xcc, 0xcd, 0xce)
	case []any:
		b = appendLength(b, len(v), 16, 0x90, 0, 0xdc, 0xdd)
		for i := 0; i < len(v) && err == nil; i++ {
			b, err = appendValue(b, v[i])
		}
	case map[string]any:
		b = appendLength(b, len(v), 16, 0x80, 0, 0xde, 0xdf)
		for key, one := range v {
			b, _ = appendValue(b, key)
			if b, err = appendValue(b, one); err != nil {
				break
			}
		}
	default:
		err = fmt.Errorf("a %T has no form in MessagePack", value)
	}
	return b, err
}

// A decoder reads messages. Integers become int64, or uint64 beyond that; floats and extensions, which
// the protocol does not have, become nil.
// What it builds is never much larger than what has come, whatever a length claims.
type decoder struct {
	r    *bufio.Reader
	left int // bytes that the message may still have
}

// A failure is what the decoder panics with, and next recovers.
type failure struct{ err error }

// next is the next message. An error is errMalformed, or one of reading: io.EOF between messages.
func (d *decoder) next() (message any, err error) {
	if _, err := d.r.Peek(1); err != nil {
		return nil, err
	}
	defer func() {
		switch f := recover().(type) {
		case nil:
		case failure:
			message, err = nil, f.err
		default:
			panic(f)
		}
	}()
	d.left = frameMax
	return d.value(0), nil
}

func (d *decoder) take(n int) {
	if d.left -= n; d.left < 0 {
		panic(failure{malformed("a message of more than 64 MiB")})
	}
}

func must(_ int, err error) {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		panic(failure{err})
	}
}

// number is a big-endian number of size bytes.
func (d *decoder) number(size int) (n uint64) {
	d.take(size)
	for ; size > 0; size-- {
		b, err := d.r.ReadByte()
		must(0, err)
		n = n<<8 | uint64(b)
	}
	return n
}

func (d *decoder) bytes(n int) []byte {
	d.take(n)
	b := []byte{}
	for len(b) < n {
		piece := n - len(b)
		if piece > pieceMax {
			piece = pieceMax
		}
		b = append(b, make([]byte, piece)...)
		must(io.ReadFull(d.r, b[len(b)-piece:]))
	}
	return b
}

func (d *decoder) skip(n int) any {
	d.take(n)
	must(d.r.Discard(n))
	return nil
}

func (d *decoder) array(n, depth int) []any {
	if depth >= depthMax {
		panic(failure{malformed("nested too deeply")})
	}
	list := []any{}
	for ; n > 0; n-- {
		list = append(list, d.value(depth+1))
	}
	return list
}

func (d *decoder) dict(n, depth int) map[string]any {
	items := d.array(2*n, depth)
	dict := make(map[string]any, n)
	for i := 0; i < len(items); i += 2 {
		key, ok := items[i].(string)
		if !ok {
			panic(failure{malformed("the key of a map is no string")})
		}
		dict[key] = items[i+1]
	}
	return dict
}

func (d *decoder) value(depth int) any {
	head := byte(d.number(1))
	switch {
	case head < 0x80 || head >= 0xe0:
		return int64(int8(head))
	case head < 0x90:
		return d.dict(int(head&0x0f), depth)
	case head < 0xa0:
		return d.array(int(head&0x0f), depth)
	case head < 0xc0:
		return string(d.bytes(int(head & 0x1f)))
	case head == 0xc0:
		return nil
	case head == 0xc1:
		panic(failure{malformed("a byte that MessagePack does not have")})
	case head < 0xc4:
		return head == 0xc3
	case head >= 0xd4 && head <= 0xd8:
		return d.skip(1<<(head-0xd4) + 1)
	}
	const sizes = "\x01\x02\x04\x01\x02\x04\x04\x08\x01\x02\x04\x08\x01\x02\x04\x08" + // 0xc4 to 0xd3
		"\x00\x00\x00\x00\x00\x01\x02\x04\x02\x04\x02\x04" // to 0xdf
	size := int(sizes[head-0xc4])
	n := d.number(size)
	switch {
	case head <= 0xcb && head >= 0xca:
		return nil
	case head == 0xcf && n > math.MaxInt64:
		return n
	case head >= 0xcc && head <= 0xcf:
		return int64(n)
	case head >= 0xd0 && head <= 0xd3:
		return int64(n<<(64-8*size)) >> (64 - 8*size)
	case n > frameMax:
		panic(failure{malformed("a length of more than 64 MiB")})
	case head <= 0xc6:
		return d.bytes(int(n))
	case head <= 0xc9:
		return d.skip(int(n) + 1)
	case head <= 0xdb:
		return string(d.bytes(int(n)))
	case head <= 0xdd:
		return d.array(int(n), depth)
	}
	return d.dict(int(n), depth)
}

// A record is a map of the protocol, of which it is not known what it holds.
type record map[string]any

// asRecord is nil, which has nothing in it, of what is no map.
func asRecord(value any) record {
	m, _ := value.(map[string]any)
	return m
}

func (r record) text(key string) string {
	s, _ := r[key].(string)
	return s
}

// count is a number from 0 on.
func (r record) count(key string) (uint64, bool) {
	switch n := r[key].(type) {
	case int64:
		return uint64(n), n >= 0
	case uint64:
		return n, true
	}
	return 0, false
}
