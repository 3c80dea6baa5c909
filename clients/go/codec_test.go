package zkleader

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"math/rand"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

func decode(r io.Reader) ([]any, error) {
	d := decoder{r: bufio.NewReaderSize(r, 16)}
	found := []any{}
	for {
		value, err := d.next()
		if err == io.EOF {
			return found, nil
		} else if err != nil {
			return found, err
		}
		found = append(found, value)
	}
}

func encode(t testing.TB, value any) []byte {
	b, err := appendValue(nil, value)
	if err != nil {
		t.Fatalf("%v: %v", value, err)
	}
	return b
}

var values = someValues()

func someValues() []any {
	list := []any{nil, true, false, "", "a", "ä€😀", []byte{}, []byte{0, 255}, []any{}, map[string]any{},
		uint64(math.MaxUint64), []any{int64(1), []any{int64(2), map[string]any{"x": nil}}}}
	for _, n := range []int64{0, 1, 127, 128, 255, 256, 65535, 65536, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64,
		-1, -32, -33, -128, -129, -32768, -32769, math.MinInt32, math.MinInt64} {
		list = append(list, n)
	}
	for _, n := range []int{31, 32, 255, 256, 65535, 65536, 70000} {
		many := map[string]any{}
		for i := 0; i < n && n < 300; i++ {
			many[strings.Repeat("k", i)] = int64(i)
		}
		list = append(list, strings.Repeat("x", n), bytes.Repeat([]byte{7}, n), make([]any, n), many)
	}
	return list
}

func TestWhatIsEncodedIsDecoded(t *testing.T) {
	var all []byte
	for _, value := range values {
		b := encode(t, value)
		all = append(all, b...)
		if found, err := decode(bytes.NewReader(b)); err != nil || !reflect.DeepEqual(found, []any{value}) {
			t.Fatalf("%.50v is %.50v, %v", value, found, err)
		}
	}
	if found, err := decode(iotest.OneByteReader(bytes.NewReader(all))); err != nil || !reflect.DeepEqual(found, values) {
		t.Fatalf("byte by byte: %v", err)
	}
}

func TestTheFrameOfTheDocumentation(t *testing.T) {
	b := encode(t, []any{0, 1, "check", []any{"nightly-report", 1000}})
	if got := hex.EncodeToString(b); got != "940001a5636865636b92ae6e696768746c792d7265706f7274cd03e8" {
		t.Fatal(got)
	}
	if _, err := appendValue(nil, []any{struct{}{}}); err == nil {
		t.Fatal("a struct has a form")
	}
}

func TestWhatIsNotKnownIsPassedOver(t *testing.T) {
	for _, text := range []string{"d4010b", "d5010203", "c703010a0a0a", "c80001010a", "c900000001010a", "ca00000000", "cb0000000000000000"} {
		b, _ := hex.DecodeString("92" + text + "07")
		if found, err := decode(bytes.NewReader(b)); err != nil || !reflect.DeepEqual(found, []any{[]any{nil, int64(7)}}) {
			t.Fatalf("%s: %v, %v", text, found, err)
		}
	}
}

func TestIntegersOfAllForms(t *testing.T) {
	for text, n := range map[string]int64{"d0ff": -1, "d180ff": -32513, "d2fffffffe": -2, "d3fffffffffffffffd": -3, "e0": -32, "d07f": 127} {
		b, _ := hex.DecodeString(text)
		if found, err := decode(bytes.NewReader(b)); err != nil || found[0] != n {
			t.Fatalf("%s: %v, %v", text, found, err)
		}
	}
}

func TestMalformed(t *testing.T) {
	nested := bytes.Repeat([]byte{0x91}, depthMax)
	if _, err := decode(bytes.NewReader(append(nested, 1))); err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{append(nested, 0x91, 1), append(nested, 0x90), {0xc1}, {0x81, 1, 1},
		append([]byte{0xdd, 0x7f, 0xff, 0xff, 0xff}, bytes.Repeat([]byte{1}, 100)...)} {
		if found, err := decode(bytes.NewReader(b)); !errors.Is(err, errMalformed) {
			t.Fatalf("%x: %v, %v", b, found, err)
		}
	}
	text := append([]byte{0xdb, 0x00, 0x10, 0, 0}, make([]byte, 1<<20)...)
	long := append([]byte{0xdd, 0x03, 0xff, 0xff, 0xff}, bytes.Repeat(text, frameMax>>20)...)
	if _, err := decode(bytes.NewReader(long)); !errors.Is(err, errMalformed) {
		t.Fatalf("more than 64 MiB: %v", err)
	}
}

func TestLengthsThatLieCostNoMemory(t *testing.T) {
	for _, head := range []byte{0xdd, 0xdf, 0xdb, 0xc6, 0xc9, 0xdc, 0xde, 0xda} {
		for _, n := range [][]byte{{0xff, 0xff, 0xff, 0xff}, {0x03, 0xff, 0xff, 0xff}, {0x00, 0x10, 0, 0}} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := decode(bytes.NewReader(append(append([]byte{head}, n...), 1, 1)))
			runtime.ReadMemStats(&after)
			if err == nil || after.TotalAlloc-before.TotalAlloc > 1<<20 {
				t.Fatalf("%x %x: %d bytes, %v", head, n, after.TotalAlloc-before.TotalAlloc, err)
			}
		}
	}
}

// check has bytes decoded, in one piece and in many: the same values, or the same kind of error.
func check(t *testing.T, b []byte) {
	whole, err := decode(bytes.NewReader(b))
	pieces, errOfPieces := decode(iotest.OneByteReader(bytes.NewReader(b)))
	if !reflect.DeepEqual(whole, pieces) || (err == nil) != (errOfPieces == nil) {
		t.Fatalf("%x: %v, %v in one piece, %v, %v in many", b, whole, err, pieces, errOfPieces)
	}
	if err != nil && err != io.ErrUnexpectedEOF && !errors.Is(err, errMalformed) {
		t.Fatalf("%x: %v", b, err)
	}
	for _, value := range whole {
		again, err := decode(bytes.NewReader(encode(t, value)))
		if err != nil || !reflect.DeepEqual(again, []any{value}) {
			t.Fatalf("%x: %v is not %v again, %v", b, value, again, err)
		}
	}
}

func TestRandomBrokenAndTruncatedBytes(t *testing.T) {
	seed := rand.Int63()
	random := rand.New(rand.NewSource(seed))
	t.Logf("seed %d", seed)
	for i := 0; i < 5000; i++ {
		b := make([]byte, random.Intn(64))
		random.Read(b)
		if i%2 == 0 {
			b = append([]byte{0x9f}, encode(t, values[random.Intn(30)])...)
			b = b[:1+random.Intn(len(b))]
			b[random.Intn(len(b))] = byte(random.Intn(256))
		}
		check(t, b)
	}
}

func FuzzDecode(f *testing.F) {
	for _, value := range values[:30] {
		f.Add(encode(f, value))
	}
	f.Fuzz(check)
}
