package modelfile

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"
)

// TestLiesDoNotCostMemory reads headers that claim far more than the file has.
func TestLiesDoNotCostMemory(t *testing.T) {
	head := func(text string) []byte {
		return append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	}
	meta := `{"__metadata__":{"format":"loadline-model","version":"1"},`
	for name, file := range map[string][]byte{
		"a header of 4 MB":     binary.LittleEndian.AppendUint64(nil, longestHeader),
		"a tensor of 1 TB":     head(meta + `"a.b":{"dtype":"F32","shape":[274877906944],"data_offsets":[0,1099511627776]}}`),
		"a shape that wraps":   head(meta + `"a.b":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`),
		"offsets that go back": head(meta + `"a.b":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`),
		"a negative shape":     head(meta + `"a.b":{"dtype":"F32","shape":[-1],"data_offsets":[0,-4]}}`),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Read(bytes.NewReader(file))
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Error("taken for a model")
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
				t.Errorf("allocated %d bytes for a file of %d", used, len(file))
			}
		})
	}
}
