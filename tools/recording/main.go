// Command recording makes an animated GIF of screenshots, each a PNG of the same size. Pages have few
// colours, so one palette serves all frames; of each frame only the rectangle that has changed is kept,
// and in it what has not is transparent.
//
//	go run ./tools/recording -o docs/images/sandbox.gif out/recording/frame-*.png
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/png"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/loadline/loadline/internal/atomicfile"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("recording", flag.ContinueOnError)
	out := flags.String("o", "", "file to write")
	delay := flags.Int("delay", 25, "hundredths of a second that each frame is shown")
	last := flags.Int("last", 250, "the same for the last frame")
	most := flags.Int("most", 2_000_000, "bytes that the file may have")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" || flags.NArg() < 2 {
		return errors.New("usage: recording -o FILE.gif FRAMES.png")
	}
	frames, err := read(flags.Args())
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, animate(frames, *delay, *last)); err != nil {
		return err
	}
	if b.Len() > *most {
		return fmt.Errorf("%d frames are %d bytes, at most %d are allowed: take fewer or smaller ones", len(frames), b.Len(), *most)
	}
	if err := atomicfile.Write(*out, func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err }); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %d frames, %d bytes\n", *out, len(frames), b.Len())
	return nil
}

// read the frames, which must have one size.
func read(names []string) ([]*image.RGBA, error) {
	var all []*image.RGBA
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		picture, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		frame := image.NewRGBA(image.Rectangle{Max: picture.Bounds().Size()})
		draw.Draw(frame, frame.Bounds(), picture, picture.Bounds().Min, draw.Src)
		if len(all) > 0 && frame.Bounds() != all[0].Bounds() {
			return nil, fmt.Errorf("%s has %v pixels, and %s has %v: must be the same", name,
				frame.Bounds().Size(), names[0], all[0].Bounds().Size())
		}
		all = append(all, frame)
	}
	return all, nil
}

func animate(frames []*image.RGBA, delay, last int) *gif.GIF {
	colours := palette(frames)
	nearest := map[color.RGBA]uint8{}
	out := &gif.GIF{Config: image.Config{ColorModel: colours, Width: frames[0].Bounds().Dx(), Height: frames[0].Bounds().Dy()}}
	var before *image.Paletted
	for i, frame := range frames {
		whole := image.NewPaletted(frame.Bounds(), colours)
		for y := range frame.Bounds().Dy() {
			for x := range frame.Bounds().Dx() {
				c := frame.RGBAAt(x, y)
				index, known := nearest[c]
				if !known {
					index = uint8(colours[:len(colours)-1].Index(c))
					nearest[c] = index
				}
				whole.SetColorIndex(x, y, index)
			}
		}
		shown := delay
		if i == len(frames)-1 {
			shown = last
		}
		out.Image = append(out.Image, changed(before, whole))
		out.Delay = append(out.Delay, shown)
		out.Disposal = append(out.Disposal, gif.DisposalNone)
		before = whole
	}
	return out
}

// palette is the 255 most frequent colours of all frames, and none.
func palette(frames []*image.RGBA) color.Palette {
	count := map[color.RGBA]int{}
	for _, frame := range frames {
		for i := 0; i < len(frame.Pix); i += 4 {
			count[color.RGBA{frame.Pix[i], frame.Pix[i+1], frame.Pix[i+2], 255}]++
		}
	}
	order := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var p color.Palette
	for _, c := range order[:min(len(order), 255)] {
		p = append(p, c)
	}
	return append(p, color.RGBA{})
}

// changed is the rectangle of a frame that differs from the one before; at least a pixel.
func changed(before, now *image.Paletted) *image.Paletted {
	if before == nil {
		return now
	}
	var box image.Rectangle
	for y := range now.Rect.Dy() {
		a, b := before.Pix[y*before.Stride:][:now.Rect.Dx()], now.Pix[y*now.Stride:][:now.Rect.Dx()]
		if bytes.Equal(a, b) {
			continue
		}
		first, last := 0, len(a)-1
		for a[first] == b[first] {
			first++
		}
		for a[last] == b[last] {
			last--
		}
		box = box.Union(image.Rect(first, y, last+1, y+1))
	}
	if box.Empty() {
		box = image.Rect(0, 0, 1, 1)
	}
	out := image.NewPaletted(box, now.Palette)
	none := uint8(len(now.Palette) - 1)
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			index := now.ColorIndexAt(x, y)
			if index == before.ColorIndexAt(x, y) {
				index = none
			}
			out.SetColorIndex(x, y, index)
		}
	}
	return out
}
