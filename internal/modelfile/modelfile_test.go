package modelfile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loadline/loadline/internal/nn"
)

func sample(t testing.TB) *File {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	f := New(Card{
		Kind:     "test/pair",
		Features: []Feature{{Name: "cpu", Mean: 0.4, Spread: 0.1}},
		Settings: json.RawMessage(`{"window":3}`),
		Training: Training{Data: "a day", Samples: 12, Seed: 7},
		Results:  []Result{{Name: "MSE", On: "test", Value: 0.5, Baseline: "persistence", Against: 1}},
	})
	for name, design := range map[string]nn.Design{
		"actor":  nn.MLP{Inputs: []int{3}, Hidden: []int{4}, Outputs: 2}.Design(),
		"critic": nn.MLP{Inputs: []int{3, 2}, Hidden: []int{5}, Outputs: 1, Norm: true}.Design(),
	} {
		net, err := design.Build(nn.HeUniform, rng)
		if err != nil {
			t.Fatal(err)
		}
		f.Add(name, net)
	}
	f.Arrays["adam_m1"] = []float32{1, 2, 3}
	return f
}

func encoded(t testing.TB, f *File) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	f := sample(t)
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := f.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := encoded(t, f), encoded(t, got); !bytes.Equal(a, b) {
		t.Errorf("read back and written again: %d bytes, were %d", len(b), len(a))
	}
	if got.Card.Kind != "test/pair" || got.Card.Training.Seed != 7 || got.Card.Features[0].Name != "cpu" ||
		!slices.Equal(got.Arrays["adam_m1"], []float32{1, 2, 3}) {
		t.Errorf("%+v", got)
	}
	for _, name := range []string{"actor", "critic"} {
		want, err := f.Net(name)
		if err != nil {
			t.Fatal(err)
		}
		net, err := got.Net(name)
		if err != nil || !slices.Equal(net.Params(), want.Params()) {
			t.Errorf("%s: weights differ: %v", name, err)
		}
	}
	if _, err := got.Net("nobody"); err == nil {
		t.Error("a network that is not there was given")
	}
}

// TestLayout reads the file by the published layout of safetensors, without this package, as
// the Python library requires.
func TestLayout(t *testing.T) {
	f := sample(t)
	file := encoded(t, f)
	n := binary.LittleEndian.Uint64(file)
	if (8+n)%8 != 0 || file[8] != '{' {
		t.Fatalf("a header of %d bytes that begins with %q", n, file[8])
	}
	var head map[string]json.RawMessage
	if err := json.Unmarshal(file[8:8+n], &head); err != nil {
		t.Fatal(err)
	}
	var metadata map[string]string
	if err := json.Unmarshal(head["__metadata__"], &metadata); err != nil || metadata["format"] != "loadline-model" {
		t.Fatalf("metadata %v: %v", metadata, err)
	}
	delete(head, "__metadata__")
	data := file[8+n:]
	covered := make([]bool, len(data))
	for name, text := range head {
		var info struct {
			Dtype   string `json:"dtype"`
			Shape   []int  `json:"shape"`
			Offsets [2]int `json:"data_offsets"`
		}
		if err := json.Unmarshal(text, &info); err != nil {
			t.Fatal(err)
		}
		size := 4
		for _, k := range info.Shape {
			size *= k
		}
		if info.Dtype != "F32" || info.Offsets[1]-info.Offsets[0] != size {
			t.Errorf("%s: %+v", name, info)
		}
		for i := info.Offsets[0]; i < info.Offsets[1]; i++ {
			if covered[i] {
				t.Fatalf("%s overlaps another tensor", name)
			}
			covered[i] = true
		}
		if name == "array.adam_m1" {
			for i, want := range []float32{1, 2, 3} {
				if got := math.Float32frombits(binary.LittleEndian.Uint32(data[info.Offsets[0]+4*i:])); got != want {
					t.Errorf("%s[%d] is %v, want %v", name, i, got, want)
				}
			}
		}
	}
	if slices.Contains(covered, false) {
		t.Error("there is a hole between tensors")
	}
}

// rewritten is a file whose header and tensors were changed and whose checksum was recomputed.
func rewritten(t testing.TB, change func(metadata map[string]string, tensors []nn.Tensor) []nn.Tensor) []byte {
	t.Helper()
	f := sample(t)
	file := encoded(t, f)
	n := binary.LittleEndian.Uint64(file)
	h, err := parseHeader(bytes.TrimRight(file[8:8+n], " "))
	if err != nil {
		t.Fatal(err)
	}
	tensors, err := h.tensors(file[8+n:])
	if err != nil {
		t.Fatal(err)
	}
	tensors = change(h.metadata, tensors)
	h.metadata[keyChecksum] = digest(h.metadata, tensors)
	head, at := map[string]any{metadataKey: h.metadata}, int64(0)
	var data []byte
	for _, tensor := range tensors {
		data = append(data, littleEndian(tensor.Data)...)
		shape := []int64{}
		for _, k := range tensor.Shape {
			shape = append(shape, int64(k))
		}
		head[tensor.Name] = entry{float32Type, shape, [2]int64{at, int64(len(data))}}
		at = int64(len(data))
	}
	text, err := json.Marshal(head)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text, data)
}

func TestBadFilesAreRefused(t *testing.T) {
	whole := encoded(t, sample(t))
	swap := func(old, by string) []byte {
		if !bytes.Contains(whole, []byte(old)) {
			t.Fatalf("%q is not in the file", old)
		}
		return bytes.Replace(slices.Clone(whole), []byte(old), []byte(by), 1)
	}
	flipped := slices.Clone(whole)
	flipped[len(flipped)-3] ^= 1
	for name, row := range map[string]struct {
		file []byte
		want error
		says string
	}{
		"nothing":                      {nil, ErrForeign, ""},
		"a text":                       {[]byte("t_s,rps\n0,1\n60,2\n"), ErrForeign, "not a loadline model"},
		"another program's tensors":    {swap("loadline-model", "somebody-model"), ErrForeign, "somebody-model"},
		"a header that is not JSON":    {slices.Concat(whole[:9], []byte("!"), whole[10:]), ErrForeign, ""},
		"cut in the header":            {whole[:40], ErrTorn, "copy or train"},
		"cut in the tensors":           {whole[:len(whole)-1], ErrTorn, ""},
		"something after the end":      {append(slices.Clone(whole), 0), ErrTorn, ""},
		"a newer version":              {swap(`"version":"1"`, `"version":"2"`), ErrNewer, "upgrade"},
		"a weight changed":             {flipped, ErrChanged, "checksum"},
		"the card changed":             {swap(`a day`, `a lie`), ErrChanged, ""},
		"two tensors' names exchanged": {exchanged(whole, "dense1.bias", "dense2.bias"), ErrChanged, ""},
		"a tensor in another shape": {rewritten(t, func(_ map[string]string, all []nn.Tensor) []nn.Tensor {
			return reshaped(all, "actor.dense1.weight", []int{4, 3}, nil)
		}), ErrMisshapen, "actor"},
		"a weight that is not a number": {rewritten(t, func(_ map[string]string, all []nn.Tensor) []nn.Tensor {
			return reshaped(all, "actor.dense1.bias", nil, []float32{0, float32(math.NaN()), 0, 0})
		}), ErrMisshapen, "not finite"},
		"an array that is not finite": {rewritten(t, func(_ map[string]string, all []nn.Tensor) []nn.Tensor {
			return reshaped(all, "array.adam_m1", nil, []float32{0, float32(math.Inf(1)), 0})
		}), ErrMisshapen, "adam_m1"},
		"a tensor missing": {rewritten(t, func(_ map[string]string, all []nn.Tensor) []nn.Tensor {
			return slices.DeleteFunc(all, func(t nn.Tensor) bool { return t.Name == "actor.dense1.bias" })
		}), ErrMisshapen, "missing"},
		"a tensor of an unknown network": {rewritten(t, func(_ map[string]string, all []nn.Tensor) []nn.Tensor {
			return append(all, nn.Tensor{Name: "ghost.weight", Shape: []int{1}, Data: []float32{1}})
		}), ErrMisshapen, "ghost"},
		"an architecture without end": {rewritten(t, func(m map[string]string, all []nn.Tensor) []nn.Tensor {
			m[keyCard] = strings.ReplaceAll(m[keyCard], `"width":4`, `"width":60000`)
			return all
		}), ErrMisshapen, "weights"},
		"a card that is not one": {rewritten(t, func(m map[string]string, all []nn.Tensor) []nn.Tensor {
			m[keyCard] = "[]"
			return all
		}), ErrMisshapen, "card"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(bytes.NewReader(row.file))
			if !errors.Is(err, row.want) || !strings.Contains(err.Error(), row.says) {
				t.Errorf("%v, want %v with %q", err, row.want, row.says)
			}
		})
	}
}

func exchanged(file []byte, a, b string) []byte {
	file = bytes.ReplaceAll(file, []byte(a), []byte("dense9.bias"))
	file = bytes.ReplaceAll(file, []byte(b), []byte(a))
	return bytes.ReplaceAll(file, []byte("dense9.bias"), []byte(b))
}

func reshaped(all []nn.Tensor, name string, shape []int, data []float32) []nn.Tensor {
	for i := range all {
		if all[i].Name != name {
			continue
		}
		if shape != nil {
			all[i].Shape = shape
		}
		if data != nil {
			all[i].Data = data
		}
	}
	return all
}

func TestEveryTornFileIsRefused(t *testing.T) {
	whole := encoded(t, sample(t))
	for n := range whole {
		if _, err := Read(bytes.NewReader(whole[:n])); err == nil {
			t.Fatalf("the first %d of %d bytes were taken for a model", n, len(whole))
		}
	}
}

func TestEveryFlippedBitIsRefusedOrHarmless(t *testing.T) {
	whole := encoded(t, sample(t))
	for i := range whole {
		file := slices.Clone(whole)
		file[i] ^= 1 << (i % 8)
		got, err := Read(bytes.NewReader(file))
		if err == nil && !bytes.Equal(encoded(t, got), whole) { // for example a space of the padding
			t.Fatalf("byte %d was changed without an error", i)
		}
	}
}

func TestWriteIsWholeOrNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m")
	good := sample(t)
	if err := good.Write(path); err != nil {
		t.Fatal(err)
	}
	bad := sample(t)
	bad.Arrays["x"] = []float32{float32(math.NaN())}
	if err := bad.Write(path); err == nil || !strings.Contains(err.Error(), "not finite") {
		t.Errorf("a model with NaN was written: %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, encoded(t, good)) {
		t.Errorf("the old file is gone: %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("left behind: %v, %v", files, err)
	}
	if err := good.Write(filepath.Join(dir, "none", "m")); err == nil {
		t.Error("wrote into a folder that is not there")
	}
}

func TestCardNamesEveryFault(t *testing.T) {
	err := Card{
		Networks: map[string]nn.Design{"a.b": nn.Student(), "array": nn.Student(),
			"wide": {Layers: []nn.Layer{{Kind: nn.KindInput, Width: 1 << 20}}}},
		Features: []Feature{{Name: "x"}},
		Results:  []Result{{Name: "r", Value: math.NaN()}},
	}.Validate()
	for _, want := range []string{"kind is empty", `"a.b"`, `"array"`, "wide", `feature "x"`, `result "r"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}
