package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// frame is a picture with a square.
func frame(t *testing.T, dir string, i, width int, square image.Rectangle) string {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, width, 20))
	for y := range 20 {
		for x := range width {
			c := color.RGBA{255, 255, 255, 255}
			if (image.Point{x, y}).In(square) {
				c = color.RGBA{11, 111, 184, 255}
			}
			picture.SetRGBA(x, y, c)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, fmt.Sprintf("frame-%d.png", i))
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestOnlyWhatChangesIsKept: the second frame is the rectangle that differs, in the same colours.
func TestOnlyWhatChangesIsKept(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.gif")
	args := []string{"-o", out, frame(t, dir, 0, 30, image.Rect(2, 2, 4, 4)), frame(t, dir, 1, 30, image.Rect(3, 2, 5, 4)),
		frame(t, dir, 2, 30, image.Rect(3, 2, 5, 4))}
	if err := run(args, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gif.DecodeAll(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	want := []image.Rectangle{image.Rect(0, 0, 30, 20), image.Rect(2, 2, 5, 4), image.Rect(0, 0, 1, 1)}
	for i, frame := range g.Image {
		if frame.Bounds() != want[i] {
			t.Errorf("frame %d is %v, want %v", i, frame.Bounds(), want[i])
		}
	}
	if len(g.Image) != 3 || g.Image[1].At(4, 3) != (color.RGBA{11, 111, 184, 255}) || g.Delay[2] != 250 {
		t.Errorf("%d frames, colour %v, delays %v", len(g.Image), g.Image[1].At(4, 3), g.Delay)
	}
}

func TestBadFrames(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.gif")
	one, two := frame(t, dir, 0, 30, image.Rectangle{}), frame(t, dir, 1, 31, image.Rectangle{})
	for want, args := range map[string][]string{
		"usage":            {"-o", out, one},
		"must be the same": {"-o", out, one, two},
		"at most 10":       {"-o", out, "-most", "10", one, one},
		"no such file":     {"-o", out, one, filepath.Join(dir, "none.png")},
	} {
		if err := run(args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: something was written", want)
		}
	}
}
