package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"

	"github.com/loadline/loadline/internal/result"
)

// pack encodes a value for a page: JSON, gzip, base64. The browser's DecompressionStream opens
// it.
func pack(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("pack: %w", err)
	}
	var b bytes.Buffer
	encoder := base64.NewEncoder(base64.StdEncoding, &b)
	w := gzip.NewWriter(encoder) // the best level takes twice the time for 2 % less
	if _, err := w.Write(text); err != nil {
		return "", fmt.Errorf("pack: %w", err)
	}
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("pack: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return "", fmt.Errorf("pack: %w", err)
	}
	return b.String(), nil
}

// significant rounds to the given digits: more are not visible, and do not compress.
func significant(n result.Number, digits int) result.Number {
	v := float64(n)
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return n
	}
	exponent := digits - 1 - int(math.Floor(math.Log10(math.Abs(v))))
	if exponent > 300 || exponent < -300 {
		return n
	}
	scale := math.Pow(10, float64(exponent))
	return result.Number(math.Round(v*scale) / scale)
}

func allSignificant(list []result.Number, digits int) []result.Number {
	out := make([]result.Number, len(list))
	for i, n := range list {
		out[i] = significant(n, digits)
	}
	return out
}
