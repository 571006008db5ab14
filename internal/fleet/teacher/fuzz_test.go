package teacher

import (
	"encoding/binary"
	"hash/crc64"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/loadline/loadline/internal/fleet"
	"github.com/loadline/loadline/internal/rl"
)

// FuzzRestore: a teacher's state that is damaged in any place, and cut anywhere, is restored or gives
// an error, although its checksum is right. The state has megabytes of replay memory, so an input
// names the place and what is written there.
func FuzzRestore(f *testing.F) {
	teacher := fresh(f)
	saved := rl.Save(&state{teacher, &fleet.Ledger{Last: 3}})
	body := saved[:len(saved)-8]
	f.Add(uint32(0), []byte{}, false)
	f.Add(uint32(19), []byte("\xff\xff\xff\xff\xff\xff\xff\xff"), false)
	f.Add(uint32(27), []byte(`{"last":-1}`), false)
	f.Add(uint32(len(body)/2), []byte{0, 0, 0, 0, 0, 0, 0, 0x40}, true)
	places := rand.New(rand.NewPCG(1, 1))
	for range 8 {
		f.Add(places.Uint32N(uint32(len(body))), []byte{0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0}, false)
	}
	table := crc64.MakeTable(crc64.ECMA)
	f.Fuzz(func(t *testing.T, at uint32, bytes []byte, cut bool) {
		text := slices.Clone(body)
		from := int(at) % len(text)
		n := copy(text[from:], bytes)
		if cut {
			text = text[:from+n]
		}
		text = binary.LittleEndian.AppendUint64(text, crc64.Checksum(text, table))
		var ledger fleet.Ledger
		_ = rl.Restore(text, &state{teacher, &ledger})
	})
}
