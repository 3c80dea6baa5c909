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

// take reads n bytes. What it allocates is never much more than what has come, whatever a length claims.
func (d *decoder) take(n int) []byte {
	if d.left -= n; d.left < 0 {
		panic(failure{malformed("a message of more than 64 MiB")})
	}
	b := []byte{}
	for len(b) < n {
		from := len(b)
		b = append(b, make([]byte, within(n-from, pieceMax))...)
		if _, err := io.ReadFull(d.r, b[from:]); err == io.EOF {
			panic(failure{io.ErrUnexpectedEOF})
		} else if err != nil {
			panic(failure{err})
		}
	}
	return b
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
	const sizes = "\x00\x00\x00\x00\x01\x02\x04\x01\x02\x04\x04\x08\x01\x02\x04\x08\x01\x02\x04\x08" + // 0xc0 to 0xd3
		"\x02\x03\x05\x09\x11\x01\x02\x04\x02\x04\x02\x04" // to 0xdf
	head, size, n := d.take(1)[0], 0, uint64(0)
	switch {
	case head < 0x80 || head >= 0xe0:
		return int64(int8(head))
	case head < 0xa0: // of a map or an array, with a length in it
		head, n = 0xdf-(head&0x10)>>3, uint64(head&0x0f)
	case head < 0xc0: // likewise of a string
		head, n = 0xdb, uint64(head&0x1f)
	default:
		size = int(sizes[head-0xc0])
		for _, b := range d.take(size) {
			n = n<<8 | uint64(b)
		}
	}
	switch {
	case head == 0xc1:
		panic(failure{malformed("a byte that MessagePack does not have")})
	case head == 0xc2 || head == 0xc3:
		return head == 0xc3
	case head == 0xc0 || head == 0xca || head == 0xcb || (head >= 0xd4 && head <= 0xd8):
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
		return d.take(int(n))
	case head <= 0xc9:
		d.take(int(n) + 1)
		return nil
	case head <= 0xdb:
		return string(d.take(int(n)))
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

// node is what the node of a worker is called, "" where nobody is known.
func (r record) node() string {
	for _, key := range []string{"node", "hostname", "id"} {
		if name := r.text(key); name != "" {
			return name
		}
	}
	return ""
}
